//! The operations between the matrix products of a forward pass, each in one pass over memory and on all cores.
//!
//! candle-core runs a norm or a softmax as six to nine passes on one core, which takes as long as the products. The
//! functions here are for f32 tensors without gradients; `composed` handles all others.

use std::ops::Range;

use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Storage, Tensor};

use straightedge_simd::{self as loops, Curve, PANEL, across};

use super::products;
use crate::backend::Activation;
use crate::platform::parallel::{for_chunks, map, zeros};

/// Elements that one core processes at a time.
const CHUNK: usize = 1 << 14;

/// Whether these tensors are supported here.
pub(super) fn fits(tensors: &[&Tensor]) -> bool {
    tensors.iter().all(|tensor| tensor.dtype() == DType::F32 && tensor.is_contiguous() && !tensor.track_op())
}

/// (x − mean)/√(var + eps)·weight + bias per row.
pub(super) fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    let (weight, bias) = (values(weight)?, values(bias)?);
    map_rows(x, |x, y| loops::layer_norm(x, &weight, &bias, eps, y))
}

/// x/√(mean(x²) + eps)·weight per row.
pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    let weight = values(weight)?;
    map_rows(x, |x, y| loops::rms_norm(x, &weight, eps, y))
}

/// Adds `bias` to every row, in place: no other reference to the tensor may exist.
pub(super) fn add_bias(y: Tensor, bias: &Tensor) -> Result<Tensor> {
    let bias = values(bias)?;
    in_place(y, |rows, _| loops::add_bias(rows, &bias))
}

/// Softmax of scale·scores along the last dimension, in place: no other reference to the tensor may exist. Row i of
/// every square attends to the columns `attended(i)`.
pub(super) fn softmax(scores: Tensor, scale: f32, attended: &(dyn Fn(usize) -> Range<usize> + Sync)) -> Result<Tensor> {
    let [.., positions, cols] = *scores.dims() else { return Err(not_here()) };
    in_place(scores, |rows, first| {
        loops::softmax(rows, cols, scale, &|index| attended((first + index) % positions));
    })
}

/// The activation of every element; `None` if candle's own is as fast.
pub(super) fn activation(x: &Tensor, activation: Activation) -> Option<Result<Tensor>> {
    curve(activation).map(|curve| map_by(x, x, CHUNK, |x, _, y| curve.map(x, y)))
}

/// activation(gate) ⊙ up; `None` if candle's own is as fast.
pub(super) fn gated(gate: &Tensor, up: &Tensor, activation: Activation) -> Option<Result<Tensor>> {
    curve(activation).map(|curve| map_by(gate, up, CHUNK, |gate, up, y| curve.map_times(gate, up, y)))
}

fn curve(activation: Activation) -> Option<Curve> {
    match activation {
        Activation::Gelu => Some(Curve::Gelu),
        Activation::GeluTanh => Some(Curve::GeluTanh),
        Activation::QuickGelu => Some(Curve::QuickGelu),
        Activation::Silu => Some(Curve::Silu),
        Activation::Sigmoid => Some(Curve::Sigmoid),
        Activation::Relu | Activation::ReluSquared | Activation::Tanh | Activation::Identity => None,
    }
}

/// Rows of a weight that are packed at a time: an output head has tens of thousands.
const WEIGHT_ROWS: usize = 32 * PANEL;

/// x·weightᵀ in tiles, by blocks of rows of both: the fastest way in WebAssembly.
pub(super) fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (inner, cols) = (x.dim(1)?, weight.dim(0)?);
    let panels = |rows: &[f32]| map(&rows.chunks(PANEL * inner).collect::<Vec<_>>(), |rows| across(rows, inner));
    let mut y = zeros(x.dim(0)? * cols);
    let rows = with_values(x, panels)?;
    with_values(weight, |weight| {
        for (index, weight) in weight.chunks(WEIGHT_ROWS * inner).enumerate() {
            products::product((&mut y, cols), &rows, (&panels(weight), index * WEIGHT_ROWS));
        }
    })?;
    Tensor::from_vec(y, (x.dim(0)?, cols), &Device::Cpu)
}

/// Applies `f` to whole rows; returns a new tensor of the same shape.
fn map_rows(x: &Tensor, f: impl Fn(&[f32], &mut [f32]) + Send + Sync) -> Result<Tensor> {
    let cols = x.dims()[x.rank() - 1];
    map_by(x, x, (CHUNK / cols).max(1) * cols, |x, _, y| f(x, y))
}

/// Applies `f` to runs of `len` elements of `a` and `b`; returns a new tensor of the same shape.
fn map_by(a: &Tensor, b: &Tensor, len: usize, f: impl Fn(&[f32], &[f32], &mut [f32]) + Send + Sync) -> Result<Tensor> {
    let mut result = zeros(a.elem_count());
    with_values(a, |a| {
        with_values(b, |b| {
            for_chunks(&mut result, len, |index, y| {
                let first = index * len;
                f(&a[first..first + y.len()], &b[first..first + y.len()], y);
            });
        })
    })??;
    Tensor::from_vec(result, a.shape(), &Device::Cpu)
}

/// Cosine of every row of a with the same row of b; 0 where a row is 0.
pub(super) fn row_cosines(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    by_row(a, b, loops::cosine)
}

/// ‖a − b‖² of every row; b may have one row for all.
pub(super) fn row_squared_distances(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    by_row(a, b, loops::squared_distance)
}

/// f of every row of a with the same row of b, or with the only one; `(rows, 1)`.
fn by_row(a: &Tensor, b: &Tensor, f: fn(&[f32], &[f32]) -> f32) -> Result<Tensor> {
    let (rows, cols) = a.dims2()?;
    if b.dims() != [rows, cols] && b.dims() != [1, cols] {
        return Err(candle_core::Error::Msg(format!("rows of {:?} with rows of {:?}", a.dims(), b.dims())));
    }
    let step = if b.dim(0)? == 1 { 0 } else { cols };
    let len = (CHUNK / cols.max(1)).max(1);
    let mut result = zeros(rows);
    with_values(a, |a| {
        with_values(b, |b| {
            for_chunks(&mut result, len, |index, results| {
                for (row, result) in (index * len..).zip(results) {
                    *result = f(&a[row * cols..][..cols], &b[row * step..][..cols]);
                }
            });
        })
    })??;
    Tensor::from_vec(result, (rows, 1), &Device::Cpu)
}

/// Σ a ⊙ b over the rows of every window but its first `skip`.
pub(super) fn window_products(a: &Tensor, b: &Tensor, seq_len: usize, skip: usize) -> Result<Tensor> {
    let (rows, cols) = a.dims2()?;
    if b.dims() != a.dims() || skip > seq_len || !rows.is_multiple_of(seq_len) {
        return Err(candle_core::Error::Msg(format!("windows of {seq_len} of {:?} and {:?}", a.dims(), b.dims())));
    }
    let mut result = zeros(rows / seq_len * cols);
    with_values(a, |a| {
        with_values(b, |b| {
            for_chunks(&mut result, cols, |window, sums| {
                let counted = (window * seq_len + skip) * cols..(window + 1) * seq_len * cols;
                loops::add_products(&a[counted.clone()], &b[counted], sums);
            });
        })
    })??;
    Tensor::from_vec(result, (rows / seq_len, cols), &Device::Cpu)
}

fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    with_values(tensor, <[f32]>::to_vec)
}

/// Calls `f` with the elements of a contiguous f32 tensor.
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

/// Modifies whole rows in place; `f` also receives the index of the first row.
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
        for_chunks(&mut all[start..end], rows * self.cols, |index, chunk| (self.f)(chunk, index * rows));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::composed;
    use super::*;

    fn tensor(values: &[f32], rows: usize, cols: usize) -> Tensor {
        Tensor::from_slice(values, (rows, cols), &Device::Cpu).expect("a tensor")
    }

    fn numbers(tensor: &Tensor) -> Vec<f64> {
        tensor.to_dtype(DType::F64).and_then(|x| x.flatten_all()?.to_vec1()).expect("numbers")
    }

    #[test]
    fn activations_are_those_composed_in_f64() {
        let x: Vec<f32> = (-4000..4000).map(|i| i as f32 * 0.005).collect();
        let x = tensor(&x, 80, 100);
        let up = tensor(&[3.0; 8000], 80, 100);
        let exact = x.to_dtype(DType::F64).expect("x");
        for which in
            [Activation::Gelu, Activation::GeluTanh, Activation::QuickGelu, Activation::Silu, Activation::Sigmoid]
        {
            let found = numbers(&activation(&x, which).expect("is here").expect("y"));
            let times = numbers(&gated(&x, &up, which).expect("is here").expect("y"));
            let expected = numbers(&composed::activation(&exact, which).expect("y"));
            for ((found, times), expected) in found.iter().zip(times).zip(expected) {
                let off = (found - expected).abs();
                assert!(off <= 4e-7 * expected.abs().max(0.5), "{which:?}: {found} for {expected}");
                assert!((times - 3.0 * found).abs() <= 2e-7 * times.abs(), "{which:?}: {times} is not thrice {found}");
            }
            let none = activation(&tensor(&[f32::NAN], 1, 1), which).expect("is here").expect("y");
            assert!(numbers(&none)[0].is_nan(), "{which:?}");
        }
    }

    #[test]
    fn cosines_and_distances_of_rows_are_those_composed_in_f64() {
        let mut random = crate::platform::random::Random::new(6);
        for (rows, cols) in [(1, 1), (3, 7), (50, 768), (30, 1001)] {
            let mut a = random.values(rows * cols);
            a[..cols].fill(0.0);
            let (a, b) = (tensor(&a, rows, cols), tensor(&random.values(rows * cols), rows, cols));
            let wide = |x: &Tensor| x.to_dtype(DType::F64).expect("x");
            let cosines = composed::row_cosines(&wide(&a), &wide(&b)).expect("cosines");
            close(&row_cosines(&a, &b).expect("cosines"), &cosines, 1e-6);
            for b in [&b, &b.narrow(0, rows - 1, 1).expect("a row")] {
                let squares = wide(&a).broadcast_sub(&wide(b)).and_then(|rest| rest.sqr()?.sum_keepdim(1));
                close(&row_squared_distances(&a, b).expect("distances"), &squares.expect("distances"), 1e-6);
            }
        }
        let (two, three) = (tensor(&[0.0; 4], 2, 2), tensor(&[0.0; 6], 3, 2));
        assert!(row_cosines(&two, &three).is_err() && row_squared_distances(&two, &three).is_err());
    }

    #[test]
    fn products_of_windows_are_those_composed_in_f64() {
        let mut random = crate::platform::random::Random::new(7);
        for (windows, seq_len, skip, cols) in [(1, 1, 0, 1), (3, 4, 1, 70), (2, 128, 0, 33), (2, 5, 5, 3)] {
            let shape = (windows * seq_len, cols);
            let [a, b] = [(); 2].map(|()| tensor(&random.values(shape.0 * cols), shape.0, cols));
            let wide = |x: &Tensor| x.to_dtype(DType::F64).expect("x");
            let products = (wide(&a) * wide(&b)).and_then(|all| all.reshape((windows, seq_len, cols)));
            let expected = products.and_then(|all| all.narrow(1, skip, seq_len - skip)?.sum(1)).expect("sums");
            let found = window_products(&a, &b, seq_len, skip).expect("sums");
            // Up to 128 roundings of sums of a few units.
            close(&found, &expected, 1e-5);
        }
        let six = tensor(&[0.0; 6], 6, 1);
        assert!(window_products(&six, &six, 4, 0).is_err() && window_products(&six, &six, 2, 3).is_err());
    }

    /// Fails unless the tensors have the same shape, and elements that differ by at most `tolerance`, absolute or
    /// relative.
    fn close(found: &Tensor, expected: &Tensor, tolerance: f64) {
        assert_eq!(found.dims(), expected.dims());
        for (found, expected) in numbers(found).iter().zip(numbers(expected)) {
            assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{found} for {expected}");
        }
    }

    #[test]
    fn products_are_those_of_candle_in_f64() {
        let mut random = crate::platform::random::Random::new(5);
        for (rows, inner, cols) in [(1, 1, 1), (3, 5, 2), (33, 129, 50), (64, 300, 17), (100, 16, 48), (50, 3, 2060)] {
            let mut some = |rows, cols| {
                let values = random.values(rows * cols);
                tensor(&values, rows, cols)
            };
            let (x, weight) = (some(rows, inner), some(cols, inner));
            let found = product(&x, &weight).expect("y");
            assert_eq!(found.dims(), [rows, cols]);
            let wide = |x: &Tensor| x.to_dtype(DType::F64).expect("x");
            let expected = wide(&weight).t().and_then(|w| wide(&x).matmul(&w)).expect("y");
            for (found, expected) in numbers(&found).iter().zip(numbers(&expected)) {
                let off = (found - expected).abs();
                assert!(off <= 1e-6 * (inner as f64).sqrt(), "{rows} × {inner} × {cols}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn a_product_of_some_rows_of_a_larger_tensor_is_that_of_these_rows() {
        let all: Vec<f32> = (0..40).map(|i| i as f32).collect();
        let all = tensor(&all, 10, 4);
        let some = all.narrow(0, 3, 2).expect("rows");
        let found = numbers(&product(&some, &tensor(&[1.0, 0.0, 0.0, 0.0], 1, 4)).expect("y"));
        assert_eq!(found, [12.0, 16.0]);
    }
}
