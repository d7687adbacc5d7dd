//! The operations of [`Backend`] on candle-core: the machine without WebGPU in f32, and the oracle of tests in f64.
//!
//! Second moments are always accumulated in f64, where products of f32 values are exact.

mod fused;

use candle_core::{D, DType, Device, Tensor};

use crate::backend::{Activation, Adam, AdamStep, AttentionShape, Backend, GramRows, GramShape, Rotary, Shape};
use crate::error::{Error, Result};
use crate::job::GramMode;
use crate::moments::{Moments, Scale};
use crate::report::DeviceInfo;

/// candle-core on the CPU.
#[derive(Clone, Debug)]
pub struct CpuBackend {
    dtype: DType,
}

/// Moments of every fold.
pub struct CpuGram {
    folds: Vec<Moments>,
}

impl CpuBackend {
    /// Arithmetic in f32, as the model computes.
    pub fn new() -> Self {
        Self { dtype: DType::F32 }
    }

    /// Arithmetic in f64: an oracle for tests.
    pub fn oracle() -> Self {
        Self { dtype: DType::F64 }
    }

    fn tensor(&self, data: &[f32], rows: usize, cols: usize) -> Result<Tensor> {
        run("upload", || Tensor::from_slice(data, (rows, cols), &Device::Cpu)?.to_dtype(self.dtype))
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for CpuBackend {
    type Tensor = Tensor;
    type Gram = CpuGram;

    fn info(&self) -> DeviceInfo {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        DeviceInfo {
            backend: "cpu".into(),
            adapter: Some(format!("{} × {threads}", std::env::consts::ARCH)),
            driver: Some("candle-core".into()),
            ..DeviceInfo::default()
        }
    }

    /// f64 sums of exact products, whatever is asked for.
    fn gram_mode(&self, _asked: GramMode) -> GramMode {
        GramMode::Exact
    }

    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        if data.len() != shape.len() {
            return Err(Error::Cpu { what: format!("upload of {name}"), why: "length and shape differ".into() });
        }
        self.tensor(data, shape.rows, shape.cols)
    }

    fn shape(&self, tensor: &Tensor) -> Shape {
        let dims = tensor.dims();
        Shape::new(dims[0], dims[1])
    }

    async fn read(&self, tensor: &Tensor) -> Result<Vec<f32>> {
        run("read", || tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1())
    }

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        run("gather", || table.index_select(&Tensor::from_slice(ids, ids.len(), &Device::Cpu)?, 0))
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("add", || a + b)
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        run("layer_norm", || {
            if fused::fits(&[x, weight, bias]) {
                return fused::layer_norm(x, weight, bias, eps);
            }
            let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
            normalise(&centred, eps)?.broadcast_mul(weight)?.broadcast_add(bias)
        })
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        run("rms_norm", || {
            if fused::fits(&[x, weight]) {
                return fused::rms_norm(x, weight, eps);
            }
            normalise(x, eps)?.broadcast_mul(weight)
        })
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        run("linear", || {
            let y = x.matmul(&weight.t()?)?;
            match bias {
                None => Ok(y),
                Some(bias) if fused::fits(&[&y, bias]) => fused::add_bias(y, bias),
                Some(bias) => y.broadcast_add(bias),
            }
        })
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        run("rotate", || {
            let (rows, cols) = x.dims2()?;
            let (heads, half) = (cols / rotary.head_dim, rotary.rotary_dim / 2);
            let x = x.reshape((rows / rotary.seq_len, rotary.seq_len, heads, rotary.head_dim))?;
            let (first, second) = (x.narrow(3, 0, half)?, x.narrow(3, half, half)?);
            let rest = x.narrow(3, 2 * half, rotary.head_dim - 2 * half)?;
            let table = |table: &Tensor| table.reshape((1, rotary.seq_len, 1, half));
            let (cos, sin) = (table(&rotary.cos)?, table(&rotary.sin)?);
            let turned = [
                (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
                (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
                rest,
            ];
            Tensor::cat(&turned, 3)?.reshape((rows, cols))
        })
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
        run("attention", || {
            let q = split_heads(q, shape.heads, shape)?;
            let (k, v) = (split_heads(k, shape.kv_heads, shape)?, split_heads(v, shape.kv_heads, shape)?);
            let weights = attention_weights(q.matmul(&k.transpose(2, 3)?.contiguous()?)?, shape, self.dtype)?;
            let mixed = weights.matmul(&v)?.transpose(1, 2)?;
            let windows = mixed.dim(0)?;
            mixed.reshape((windows * shape.seq_len, shape.heads * shape.head_dim))
        })
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        run("activation", || {
            let fused = if fused::fits(&[x]) { fused::activation(x, activation) } else { None };
            fused.unwrap_or_else(|| activate(x, activation))
        })
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        run("gated", || {
            let fused = if fused::fits(&[gate, up]) { fused::gated(gate, up, activation) } else { None };
            fused.unwrap_or_else(|| activate(gate, activation)? * up)
        })
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        run("standardise", || x.broadcast_sub(mean)?.broadcast_mul(scale))
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("row_cosines", || {
            let dot = (a * b)?.sum_keepdim(D::Minus1)?;
            let norms = (a.sqr()?.sum_keepdim(D::Minus1)?.sqrt()? * b.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?)?;
            dot / norms.maximum(f64::from(f32::MIN_POSITIVE))?
        })
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("row_distance_ratios", || {
            let norm = |x: &Tensor| x.sqr()?.sum_keepdim(D::Minus1)?.sqrt();
            norm(&(b - a)?)? / norm(a)?.maximum(f64::from(f32::MIN_POSITIVE))?
        })
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        run("next_token_nll", || {
            let largest = logits.max_keepdim(D::Minus1)?.detach();
            let total = logits.broadcast_sub(&largest)?.exp()?.sum_keepdim(D::Minus1)?.log()?;
            let targets = Tensor::from_slice(targets, (targets.len(), 1), &Device::Cpu)?;
            (largest + total)? - logits.gather(&targets, 1)?
        })
    }

    fn transpose(&self, x: &Tensor) -> Result<Tensor> {
        run("transpose", || x.t()?.contiguous())
    }

    fn combine(&self, a: &Tensor, alpha: f64, b: &Tensor, beta: f64) -> Result<Tensor> {
        run("combine", || a.affine(alpha, 0.0)? + b.affine(beta, 0.0)?)
    }

    fn gelu_gradient(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        run("gelu_gradient", || {
            // f(x) = x·Φ(x), so that f′(x) = Φ(x) + x·φ(x).
            let cdf = (x * std::f64::consts::FRAC_1_SQRT_2)?.erf()?.affine(0.5, 0.5)?;
            let density =
                x.sqr()?.affine(-0.5, 0.0)?.exp()?.affine((2.0 * std::f64::consts::PI).sqrt().recip(), 0.0)?;
            gradient * (cdf + (x * density)?)?
        })
    }

    fn adam(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
        run("adam", || {
            let decayed =
                |moment: &Tensor, beta: f64, new: &Tensor| moment.affine(beta, 0.0)? + new.affine(1.0 - beta, 0.0)?;
            let first = decayed(&state.first, AdamStep::BETA1, gradient)?;
            let second = decayed(&state.second, AdamStep::BETA2, &gradient.sqr()?)?;
            let root = second.sqrt()?.affine(step.correction(), AdamStep::EPS)?;
            let parameter = (state.parameter.affine(step.keep(), 0.0)? - (&first / root)?.affine(step.rate(), 0.0)?)?;
            Ok(Adam { parameter, first, second })
        })
    }

    fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<CpuGram> {
        let folds = (0..shape.folds).map(|fold| Moments::empty(x, y, fold + 1 == shape.folds)).collect();
        Ok(CpuGram { folds })
    }

    fn accumulate(&self, gram: &mut CpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        let heldout = rows.fold + 1 == gram.folds.len();
        let fold = &gram.folds[rows.fold];
        let (shift_x, shift_y) = (fold.shift_x.clone(), fold.shift_y.clone());
        let batch = run("accumulate", || {
            let x = Columns::new(counted_rows(rows.x, &rows)?, &shift_x)?;
            let y = Columns::new(counted_rows(rows.y, &rows)?, &shift_y)?;
            Ok(Moments {
                n: x.shifted.dim(0)? as u64,
                xx: square(&x.shifted)?,
                xy: flat(&x.shifted.t()?.matmul(&y.shifted)?)?,
                yy: if heldout { Some(square(&y.shifted)?) } else { None },
                shift_x,
                shift_y,
                sum_x: x.sum,
                sum_y: y.sum,
                yy_diagonal: y.squares,
                max_abs_x: x.largest,
            })
        })?;
        check_finite(&batch, &rows)?;
        gram.folds[rows.fold].merge(&batch);
        Ok(())
    }

    async fn settle(&self, _grams: &mut [CpuGram]) -> Result<()> {
        Ok(())
    }

    async fn moments(&self, gram: &CpuGram) -> Result<Vec<Moments>> {
        Ok(gram.folds.clone())
    }
}

/// Runs candle code, naming the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}

fn flat(tensor: &Tensor) -> candle_core::Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}

/// x/√(mean(x²) + eps) per row.
fn normalise(x: &Tensor, eps: f32) -> candle_core::Result<Tensor> {
    let variance = (x.sqr()?.mean_keepdim(D::Minus1)? + f64::from(eps))?;
    x.broadcast_div(&variance.sqrt()?)
}

fn activate(x: &Tensor, activation: Activation) -> candle_core::Result<Tensor> {
    match activation {
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => x.gelu(),
        Activation::QuickGelu => x * sigmoid(&(x * 1.702)?)?,
        Activation::Relu => x.relu(),
        Activation::ReluSquared => x.relu()?.sqr(),
        Activation::Silu => x.silu(),
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => sigmoid(x),
        Activation::Identity => Ok(x.clone()),
    }
}

fn sigmoid(x: &Tensor) -> candle_core::Result<Tensor> {
    (x.neg()?.exp()? + 1.0)?.recip()
}

/// `(rows, heads·head_dim)` as `(windows, attention heads, seq_len, head_dim)`, key and value heads repeated.
fn split_heads(x: &Tensor, heads: usize, shape: AttentionShape) -> candle_core::Result<Tensor> {
    let windows = x.dim(0)? / shape.seq_len;
    let x = x.reshape((windows, shape.seq_len, heads, shape.head_dim))?.transpose(1, 2)?;
    let repeat = shape.heads / heads;
    x.unsqueeze(2)?.expand((windows, heads, repeat, shape.seq_len, shape.head_dim))?.reshape((
        windows,
        shape.heads,
        shape.seq_len,
        shape.head_dim,
    ))
}

/// softmax(scores/√head_dim), where `scores` are nobody else's.
fn attention_weights(scores: Tensor, shape: AttentionShape, dtype: DType) -> candle_core::Result<Tensor> {
    let root = (shape.head_dim as f64).sqrt();
    if fused::fits(&[&scores]) {
        return fused::softmax(scores, root.recip() as f32, shape.causal);
    }
    let scores = (scores / root)?;
    let scores = if shape.causal { scores.broadcast_add(&causal_mask(shape.seq_len, dtype)?)? } else { scores };
    // Softmax does not change with what is subtracted, so that no gradient goes through the maximum.
    let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}

fn causal_mask(seq_len: usize, dtype: DType) -> candle_core::Result<Tensor> {
    let hidden = |i: usize, j: usize| if j > i { f32::NEG_INFINITY } else { 0.0 };
    let mask: Vec<f32> = (0..seq_len).flat_map(|i| (0..seq_len).map(move |j| hidden(i, j))).collect();
    Tensor::from_vec(mask, (1, 1, seq_len, seq_len), &Device::Cpu)?.to_dtype(dtype)
}

/// Rows about their shift, and what one pass over them tells of every column.
struct Columns {
    shifted: Tensor,
    sum: Vec<f64>,
    squares: Vec<f64>,
    /// Largest magnitude before the shift.
    largest: Vec<f64>,
}

impl Columns {
    fn new(mut rows: Vec<f64>, shift: &[f64]) -> candle_core::Result<Self> {
        let cols = shift.len();
        let (mut sum, mut squares, mut largest) = (vec![0.0; cols], vec![0.0; cols], vec![0.0f64; cols]);
        for row in rows.chunks_exact_mut(cols) {
            for j in 0..cols {
                largest[j] = largest[j].max(row[j].abs());
                row[j] -= shift[j];
                sum[j] += row[j];
                squares[j] += row[j] * row[j];
            }
        }
        let shape = (rows.len() / cols, cols);
        Ok(Self { shifted: Tensor::from_vec(rows, shape, &Device::Cpu)?, sum, squares, largest })
    }
}

/// Strips of a square product: one half and a strip's share of the other is computed.
const STRIPS: usize = 6;

/// xᵀx, row-major: what lies on and above the diagonal strip by strip, the rest mirrored.
fn square(x: &Tensor) -> candle_core::Result<Vec<f64>> {
    let (d, xt) = (x.dim(1)?, x.t()?);
    let mut product = vec![0.0; d * d];
    let width = d.div_ceil(STRIPS);
    for first in (0..d).step_by(width) {
        let width = width.min(d - first);
        let end = first + width;
        let strip = flat(&xt.narrow(0, 0, end)?.matmul(&x.narrow(1, first, width)?)?)?;
        for (i, values) in strip.chunks_exact(width).enumerate() {
            product[i * d + first..i * d + end].copy_from_slice(values);
        }
    }
    for i in 1..d {
        (0..i).for_each(|j| product[i * d + j] = product[j * d + i]);
    }
    Ok(product)
}

/// The rows that count, in f64, row-major.
fn counted_rows(x: &Tensor, rows: &GramRows<'_, Tensor>) -> candle_core::Result<Vec<f64>> {
    let (n, d) = x.dims2()?;
    let (windows, kept) = (n / rows.seq_len, rows.seq_len - rows.skip_positions);
    flat(&x.reshape((windows, rows.seq_len, d))?.narrow(1, rows.skip_positions, kept)?.to_dtype(DType::F64)?)
}

/// Names the first row with NaN or infinity; its square is then on a diagonal.
fn check_finite(batch: &Moments, rows: &GramRows<'_, Tensor>) -> Result<()> {
    let diagonal_x = batch.xx.iter().step_by(batch.d_in() + 1);
    let finite = diagonal_x.chain(&batch.yy_diagonal).all(|sum| sum.is_finite());
    if finite {
        return Ok(());
    }
    for (site, tensor) in [("ffn_in", rows.x), ("ffn_out", rows.y)] {
        let values = run("read", || flat(&tensor.to_dtype(DType::F64)?))?;
        let cols = tensor.dims()[1];
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let row = rows.first_row + at / cols;
            return Err(Error::NonFiniteActivation { block: rows.block, site: site.into(), row });
        }
    }
    Err(Error::Cpu { what: "accumulate".into(), why: "sums overflow f64".into() })
}
