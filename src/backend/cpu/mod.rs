//! The operations of [`Backend`] on candle-core: in f32 for machines without WebGPU, in f64 as the tests' oracle.
//!
//! Second moments are accumulated in f64, where products of f32 values are exact, or in f32 as on a GPU.

pub mod composed;
mod fused;
mod gram;
mod matmul;
mod products;

use candle_core::{D, DType, Device, Tensor};

use crate::backend::{Activation, Adam, AdamStep, AttentionShape, Backend, GramRows, GramShape, Rotary, Shape};
use crate::error::{Error, Result};
use crate::job::GramMode;
use crate::platform::parallel;
use crate::report::DeviceInfo;
use crate::stats::moments::{Moments, Scale};

pub use gram::CpuGram;
use matmul::matmul;

/// candle-core on the CPU.
#[derive(Clone, Debug)]
pub struct CpuBackend {
    dtype: DType,
}

impl CpuBackend {
    /// Computes in f32.
    pub fn new() -> Self {
        Self { dtype: DType::F32 }
    }

    /// Computes in f64: an oracle for tests.
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

    const IN_MEMORY: bool = true;

    fn info(&self) -> DeviceInfo {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        DeviceInfo {
            backend: "cpu".into(),
            adapter: Some(format!("{} × {threads}", std::env::consts::ARCH)),
            driver: Some("candle-core".into()),
            ..DeviceInfo::default()
        }
    }

    /// The oracle is always exact.
    fn gram_mode(&self, requested: GramMode) -> GramMode {
        if self.dtype == DType::F64 { GramMode::Exact } else { requested }
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

    async fn read_all(&self, tensors: &[&Tensor]) -> Result<Vec<Vec<f32>>> {
        let values = |tensor: &&Tensor| tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1();
        run("read", || tensors.iter().map(values).collect())
    }

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        run("gather", || composed::gather(table, ids))
    }

    fn reshape(&self, x: &Tensor, shape: Shape) -> Result<Tensor> {
        run("reshape", || x.reshape((shape.rows, shape.cols)))
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("add", || a + b)
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        run("layer_norm", || {
            if fused::fits(&[x, weight, bias]) {
                return fused::layer_norm(x, weight, bias, eps);
            }
            composed::layer_norm(x, weight, bias, eps)
        })
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        run("rms_norm", || {
            if fused::fits(&[x, weight]) {
                return fused::rms_norm(x, weight, eps);
            }
            composed::rms_norm(x, weight, eps)
        })
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        run("linear", || {
            let y = if cfg!(target_arch = "wasm32") && fused::fits(&[x, weight]) {
                fused::product(x, weight)?
            } else {
                matmul(x, &weight.t()?, parallel::threads())?
            };
            match bias {
                None => Ok(y),
                Some(bias) if fused::fits(&[&y, bias]) => fused::add_bias(y, bias),
                Some(bias) => y.broadcast_add(bias),
            }
        })
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        run("rotate", || composed::rotate(x, rotary))
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
        run("attention", || {
            if !fused::fits(&[q, k, v]) || !shape.is_plain() {
                return composed::attention(q, k, v, shape);
            }
            let windows: Vec<usize> = (0..q.dim(0)? / shape.seq_len).collect();
            let threads = parallel::threads() / windows.len().max(1);
            let window = |x: &Tensor, index: usize| x.narrow(0, index * shape.seq_len, shape.seq_len);
            let mixed = parallel::map(&windows, |&index| {
                attend([&window(q, index)?, &window(k, index)?, &window(v, index)?], shape, threads)
            });
            Tensor::cat(&mixed.into_iter().collect::<candle_core::Result<Vec<_>>>()?, 0)
        })
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        run("activation", || {
            let fused = if fused::fits(&[x]) { fused::activation(x, activation) } else { None };
            fused.unwrap_or_else(|| composed::activation(x, activation))
        })
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        run("gated", || {
            let fused = if fused::fits(&[gate, up]) { fused::gated(gate, up, activation) } else { None };
            fused.unwrap_or_else(|| composed::gated(gate, up, activation))
        })
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        run("standardise", || x.broadcast_sub(mean)?.broadcast_mul(scale))
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("row_cosines", || if fused::fits(&[a, b]) { fused::row_cosines(a, b) } else { composed::row_cosines(a, b) })
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("row_distance_ratios", || {
            let norm = |x: &Tensor| x.sqr()?.sum_keepdim(D::Minus1)?.sqrt();
            norm(&(b - a)?)? / norm(a)?.maximum(f64::from(f32::MIN_POSITIVE))?
        })
    }

    fn row_squared_distances(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        run("row_squared_distances", || {
            if fused::fits(&[a, b]) {
                return fused::row_squared_distances(a, b);
            }
            a.broadcast_sub(b)?.sqr()?.sum_keepdim(D::Minus1)
        })
    }

    fn window_products(&self, a: &Tensor, b: &Tensor, seq_len: usize, skip: usize) -> Result<Tensor> {
        run("window_products", || {
            if fused::fits(&[a, b]) {
                return fused::window_products(a, b, seq_len, skip);
            }
            let (rows, cols) = a.dims2()?;
            (a * b)?.reshape((rows / seq_len, seq_len, cols))?.narrow(1, skip, seq_len - skip)?.sum(1)
        })
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        run("next_token_nll", || composed::next_token_nll(logits, targets))
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

    async fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<CpuGram> {
        Ok(CpuGram::new(self.gram_mode(shape.mode), shape.folds, x, y))
    }

    fn accumulate(&self, gram: &mut CpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        if run("accumulate", || gram.add(&rows))? { Ok(()) } else { Err(not_finite(&rows)?) }
    }

    async fn batch_end(&self, _gram: Option<&mut CpuGram>) -> Result<()> {
        Ok(())
    }

    async fn wait(&self) -> Result<()> {
        Ok(())
    }

    async fn moments(&self, gram: CpuGram) -> Result<Vec<Moments>> {
        Ok(gram.moments())
    }
}

/// Runs candle code and names the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}

/// Attention within one window, on so many threads. Heads are read in place unless several share a key.
fn attend([q, k, v]: [&Tensor; 3], shape: AttentionShape, threads: usize) -> candle_core::Result<Tensor> {
    let softmax = |scores| fused::softmax(scores, shape.scale as f32, &|position| shape.attended(position));
    if shape.kv_heads != shape.heads {
        return composed::attention_by([q, k, v], shape, threads, softmax);
    }
    let heads = |x: &Tensor| x.reshape((shape.seq_len, shape.heads, shape.head_dim))?.transpose(0, 1);
    let scores = matmul(&heads(q)?, &heads(k)?.transpose(1, 2)?, threads)?;
    let mixed = matmul(&softmax(scores)?, &heads(v)?, threads)?;
    mixed.transpose(0, 1)?.reshape((shape.seq_len, shape.heads * shape.head_dim))
}

/// The error for the first row with NaN or infinity.
fn not_finite(rows: &GramRows<'_, Tensor>) -> Result<Error> {
    for (site, tensor) in [("ffn_in", rows.x), ("ffn_out", rows.y)] {
        let values: Vec<f64> = run("read", || tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1())?;
        let cols = tensor.dims()[1];
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let row = rows.first_row + at / cols;
            return Ok(Error::NonFiniteActivation { block: rows.block, site: site.into(), row });
        }
    }
    Ok(Error::Cpu { what: "accumulate".into(), why: "sums overflow f64".into() })
}
