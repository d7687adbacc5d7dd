//! What lies between the matrix products of a forward pass, each in one pass over memory and on all cores.
//!
//! candle-core runs a norm or a softmax as six to nine passes on one core, which takes as long as the products. These
//! are for f32 tensors that no gradient is asked of; for all others there is the same in candle's own operations.

use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Storage, Tensor};

use super::lanes::with_vectors;
use crate::backend::Activation;
use crate::parallel::for_chunks;

/// Elements that one core takes at a time.
const CHUNK: usize = 1 << 14;

/// Whether these tensors can go through here.
pub(super) fn fits(tensors: &[&Tensor]) -> bool {
    tensors.iter().all(|tensor| tensor.dtype() == DType::F32 && tensor.is_contiguous() && !tensor.track_op())
}

/// (x − mean)/√(var + eps)·weight + bias per row.
pub(super) fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    let (weight, bias) = (values(weight)?, values(bias)?);
    map_rows(x, |row, normed| {
        let n = row.len() as f32;
        let mean = sum(row.iter().copied()) / n;
        let scale = (sum(row.iter().map(|x| (x - mean) * (x - mean))) / n + eps).sqrt().recip();
        let columns = normed.iter_mut().zip(row).zip(weight.iter().zip(&bias));
        columns.for_each(|((normed, x), (weight, bias))| *normed = (x - mean) * scale * weight + bias);
    })
}

/// x/√(mean(x²) + eps)·weight per row.
pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    let weight = values(weight)?;
    map_rows(x, |row, normed| {
        let scale = (sum(row.iter().map(|x| x * x)) / row.len() as f32 + eps).sqrt().recip();
        normed.iter_mut().zip(row.iter().zip(&weight)).for_each(|(normed, (x, weight))| *normed = x * scale * weight);
    })
}

/// Adds `bias` to every row of a tensor that nobody else has seen.
pub(super) fn add_bias(y: Tensor, bias: &Tensor) -> Result<Tensor> {
    let bias = values(bias)?;
    in_place(y, |row, _| row.iter_mut().zip(&bias).for_each(|(y, bias)| *y += bias))
}

/// Softmax of scale·scores along the last dimension of a tensor that nobody else has seen. Where `causal`, row i of
/// every square sees columns 0 … i.
pub(super) fn softmax(scores: Tensor, scale: f32, causal: bool) -> Result<Tensor> {
    let positions = scores.dims()[scores.rank() - 2];
    in_place(scores, |row, index| {
        let (seen, hidden) = row.split_at_mut(if causal { index % positions + 1 } else { row.len() });
        let largest = seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        seen.iter_mut().for_each(|score| *score = exp((*score - largest) * scale));
        let scale = sum(seen.iter().copied()).recip();
        seen.iter_mut().for_each(|weight| *weight *= scale);
        hidden.fill(0.0);
    })
}

/// The activation of every element; `None` where candle's own is as good.
pub(super) fn activation(x: &Tensor, activation: Activation) -> Option<Result<Tensor>> {
    match activation {
        Activation::Gelu => Some(map(x, gelu)),
        Activation::GeluTanh => Some(map(x, gelu_tanh)),
        Activation::QuickGelu => Some(map(x, quick_gelu)),
        Activation::Silu => Some(map(x, silu)),
        Activation::Sigmoid => Some(map(x, sigmoid)),
        Activation::Relu | Activation::ReluSquared | Activation::Tanh | Activation::Identity => None,
    }
}

/// activation(gate) ⊙ up; `None` where candle's own is as good.
pub(super) fn gated(gate: &Tensor, up: &Tensor, activation: Activation) -> Option<Result<Tensor>> {
    match activation {
        Activation::Gelu => Some(map_times(gate, up, gelu)),
        Activation::GeluTanh => Some(map_times(gate, up, gelu_tanh)),
        Activation::QuickGelu => Some(map_times(gate, up, quick_gelu)),
        Activation::Silu => Some(map_times(gate, up, silu)),
        Activation::Sigmoid => Some(map_times(gate, up, sigmoid)),
        Activation::Relu | Activation::ReluSquared | Activation::Tanh | Activation::Identity => None,
    }
}

/// One copy of the loop for every `f`, so that it becomes vector code.
fn map(x: &Tensor, f: impl Fn(f32) -> f32 + Send + Sync) -> Result<Tensor> {
    map_by(x, x, CHUNK, |x, _, y| y.iter_mut().zip(x).for_each(|(y, x)| *y = f(*x)))
}

fn map_times(gate: &Tensor, up: &Tensor, f: impl Fn(f32) -> f32 + Send + Sync) -> Result<Tensor> {
    map_by(gate, up, CHUNK, |gate, up, y| {
        y.iter_mut().zip(gate.iter().zip(up)).for_each(|(y, (gate, up))| *y = f(*gate) * up);
    })
}

fn gelu(x: f32) -> f32 {
    (candle_core::cpu::erf::erf_f32(x * std::f32::consts::FRAC_1_SQRT_2) + 1.0) * 0.5 * x
}

/// 0.5·x·(1 + tanh u) = x·sigmoid(2u), which does not cancel where tanh nears −1.
fn gelu_tanh(x: f32) -> f32 {
    const TWICE_ROOT_2_OVER_PI: f32 = 1.595_769;
    x * sigmoid(TWICE_ROOT_2_OVER_PI * x * (1.0 + 0.044_715 * x * x))
}

fn quick_gelu(x: f32) -> f32 {
    x * sigmoid(1.702 * x)
}

fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

fn sigmoid(x: f32) -> f32 {
    (1.0 + exp(-x)).recip()
}

/// e^x to two units in the last place, without a branch, so that compilers turn loops of it into vector code. Flat
/// beyond ±87, where f32 ends.
fn exp(x: f32) -> f32 {
    /// Adding it rounds to whole numbers, in the low bits: at 1.5·2²³ a unit in the last place is 1.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 as a sum: products of the first with whole numbers below 2⁹ are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x = x.clamp(-87.0, 87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let r = x - whole * LN_2[0] - whole * LN_2[1];
    // The Taylor series: at |r| ≤ ½·ln 2 what follows is below 6e-9.
    let high = ((r * (1.0 / 5040.0) + 1.0 / 720.0) * r + 1.0 / 120.0) * r + 1.0 / 24.0;
    let series = (((high * r + 1.0 / 6.0) * r + 0.5) * r + 1.0) * r + 1.0;
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    series * f32::from_bits(exponent << 23)
}

/// A sum in eight running parts: as accurate as it is quick.
fn sum(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let mut parts = [0.0f32; 8];
    values.enumerate().for_each(|(i, value)| parts[i % 8] += value);
    parts.iter().sum()
}

/// A new tensor of the shape of `x`, row by row.
fn map_rows(x: &Tensor, f: impl Fn(&[f32], &mut [f32]) + Send + Sync) -> Result<Tensor> {
    let cols = x.dims()[x.rank() - 1];
    let rows = (CHUNK / cols).max(1);
    map_by(x, x, rows * cols, |x, _, y| x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).for_each(|(x, y)| f(x, y)))
}

/// A new tensor of the shape of `a` and `b`, by runs of `len` elements.
fn map_by(a: &Tensor, b: &Tensor, len: usize, f: impl Fn(&[f32], &[f32], &mut [f32]) + Send + Sync) -> Result<Tensor> {
    let mut result = vec![0.0; a.elem_count()];
    with_values(a, |a| {
        with_values(b, |b| {
            for_chunks(&mut result, len, |index, y| {
                let first = index * len;
                with_vectors(|| f(&a[first..first + y.len()], &b[first..first + y.len()], y));
            });
        })
    })??;
    Tensor::from_vec(result, a.shape(), &Device::Cpu)
}

fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    with_values(tensor, <[f32]>::to_vec)
}

/// `f` of the elements of a contiguous f32 tensor.
fn with_values<R>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> R) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(CpuStorage::F32(all)) => {
            let (start, end) = layout.contiguous_offsets().ok_or_else(not_here)?;
            Ok(f(&all[start..end]))
        }
        _ => Err(not_here()),
    }
}

fn not_here() -> candle_core::Error {
    candle_core::Error::Msg("not a contiguous f32 tensor on the CPU".into())
}

/// Rows in place; `f` also gets a row's index.
fn in_place(tensor: Tensor, f: impl Fn(&mut [f32], usize) + Send + Sync) -> Result<Tensor> {
    let cols = tensor.dims()[tensor.rank() - 1];
    tensor.inplace_op1(&RowsInPlace { cols, f })?;
    Ok(tensor)
}

struct RowsInPlace<F> {
    cols: usize,
    f: F,
}

impl<F: Fn(&mut [f32], usize) + Send + Sync> InplaceOp1 for RowsInPlace<F> {
    fn name(&self) -> &'static str {
        "rows in place"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(all), Some((start, end))) = (storage, layout.contiguous_offsets()) else {
            return Err(not_here());
        };
        let rows = (CHUNK / self.cols).max(1);
        for_chunks(&mut all[start..end], rows * self.cols, |index, chunk| {
            let rows_of_chunk = chunk.chunks_exact_mut(self.cols).enumerate();
            with_vectors(|| rows_of_chunk.for_each(|(row, values)| (self.f)(values, index * rows + row)));
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_good_to_two_units_in_the_last_place() {
        let (mut x, mut worst) = (-87.0f32, 0.0f64);
        while x < 87.0 {
            let expected = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - expected).abs() / expected);
            x += 0.000_97;
        }
        assert!(worst <= 2.0 * f64::from(f32::EPSILON), "{worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(f32::NAN).is_nan());
    }

    #[test]
    fn activations_are_those_composed_in_f64() {
        let x: Vec<f32> = (-4000..4000).map(|i| i as f32 * 0.005).collect();
        let exact = Tensor::from_slice(&x, x.len(), &Device::Cpu).and_then(|x| x.to_dtype(DType::F64)).expect("x");
        for (which, f) in [
            (Activation::Gelu, gelu as fn(f32) -> f32),
            (Activation::GeluTanh, gelu_tanh),
            (Activation::QuickGelu, quick_gelu),
            (Activation::Silu, silu),
            (Activation::Sigmoid, sigmoid),
        ] {
            let expected =
                super::super::composed::activation(&exact, which).and_then(|y| y.to_vec1::<f64>()).expect("y");
            for (x, expected) in x.iter().zip(expected) {
                let off = (f64::from(f(*x)) - expected).abs();
                assert!(off <= 4e-7 * expected.abs().max(0.5), "{which:?} of {x}: {} for {expected}", f(*x));
            }
            assert!(f(f32::NAN).is_nan(), "{which:?}");
        }
    }
}
