//! The operations of [`Backend`] on candle-core: the machine without WebGPU in f32, and the oracle of tests in f64.
//!
//! Second moments are always accumulated in f64, where products of f32 values are exact.

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

/// Moments of every fold, with the shifts as tensors.
pub struct CpuGram {
    folds: Vec<Moments>,
    shift_x: Tensor,
    shift_y: Tensor,
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
            let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
            normalise(&centred, eps)?.broadcast_mul(weight)?.broadcast_add(bias)
        })
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        run("rms_norm", || normalise(x, eps)?.broadcast_mul(weight))
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        run("linear", || {
            let y = x.matmul(&weight.t()?)?;
            bias.map_or_else(|| Ok(y.clone()), |bias| y.broadcast_add(bias))
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
            let scores = (q.matmul(&k.transpose(2, 3)?.contiguous()?)? / (shape.head_dim as f64).sqrt())?;
            let scores =
                if shape.causal { scores.broadcast_add(&causal_mask(shape.seq_len, self.dtype)?)? } else { scores };
            // Softmax does not change with what is subtracted, so that no gradient goes through the maximum.
            let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
            let weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?;
            let mixed = weights.matmul(&v)?.transpose(1, 2)?;
            let windows = mixed.dim(0)?;
            mixed.reshape((windows * shape.seq_len, shape.heads * shape.head_dim))
        })
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        run("activation", || activate(x, activation))
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        run("gated", || activate(gate, activation)? * up)
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
        let shift = |scale: &Scale| {
            run("gram", || Tensor::from_slice(&scale.shift, (1, scale.cols()), &Device::Cpu)?.to_dtype(DType::F64))
        };
        let folds = (0..shape.folds).map(|fold| Moments::empty(x, y, fold + 1 == shape.folds)).collect();
        Ok(CpuGram { folds, shift_x: shift(x)?, shift_y: shift(y)? })
    }

    fn accumulate(&self, gram: &mut CpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        let heldout = rows.fold + 1 == gram.folds.len();
        let batch = run("accumulate", || {
            let raw_x = counted_rows(rows.x, &rows)?;
            let x = raw_x.broadcast_sub(&gram.shift_x)?;
            let y = counted_rows(rows.y, &rows)?.broadcast_sub(&gram.shift_y)?;
            let (xt, yt) = (x.t()?, y.t()?);
            Ok(Moments {
                n: x.dim(0)? as u64,
                shift_x: gram.folds[rows.fold].shift_x.clone(),
                shift_y: gram.folds[rows.fold].shift_y.clone(),
                sum_x: flat(&x.sum_keepdim(0)?)?,
                sum_y: flat(&y.sum_keepdim(0)?)?,
                xx: flat(&xt.matmul(&x)?)?,
                xy: flat(&xt.matmul(&y)?)?,
                yy_diagonal: flat(&y.sqr()?.sum_keepdim(0)?)?,
                yy: if heldout { Some(flat(&yt.matmul(&y)?)?) } else { None },
                max_abs_x: flat(&raw_x.abs()?.max_keepdim(0)?)?,
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

fn causal_mask(seq_len: usize, dtype: DType) -> candle_core::Result<Tensor> {
    let hidden = |i: usize, j: usize| if j > i { f32::NEG_INFINITY } else { 0.0 };
    let mask: Vec<f32> = (0..seq_len).flat_map(|i| (0..seq_len).map(move |j| hidden(i, j))).collect();
    Tensor::from_vec(mask, (1, 1, seq_len, seq_len), &Device::Cpu)?.to_dtype(dtype)
}

/// The rows that count, in f64.
fn counted_rows(x: &Tensor, rows: &GramRows<'_, Tensor>) -> candle_core::Result<Tensor> {
    let (n, d) = x.dims2()?;
    let (windows, kept) = (n / rows.seq_len, rows.seq_len - rows.skip_positions);
    let x = x.reshape((windows, rows.seq_len, d))?.narrow(1, rows.skip_positions, kept)?;
    x.reshape((windows * kept, d))?.to_dtype(DType::F64)
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
