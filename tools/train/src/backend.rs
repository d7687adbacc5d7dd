//! The engine's operations with gradients, on any candle device. \[candle-core\]
//!
//! On the CPU the costly ones are fused, elsewhere they are composed of candle's own: the same functions and gradients.

use candle_core::{Device, Tensor};
use straightedge::backend::cpu::{CpuBackend, CpuGram, composed};
use straightedge::backend::{Activation, Adam, AdamStep, AttentionShape, Backend, GramRows, GramShape, Rotary, Shape};
use straightedge::error::{Error, Result};
use straightedge::report::DeviceInfo;
use straightedge::stats::moments::{Moments, Scale};

use crate::device;
use crate::fused::{AddRow, CausalSoftmax, Gelu, LayerNorm, RmsNorm, Rotate, SwiGlu, TokenNll};
use crate::op::{apply_1, apply_2, apply_3};

/// The engine's operations with fast gradients.
#[derive(Clone, Debug)]
pub struct TrainingBackend {
    device: Device,
    /// Whether operations are fused; on the CPU only.
    fused: bool,
    /// Handles the operations that need no special gradients, on their tensors' device.
    plain: CpuBackend,
}

impl TrainingBackend {
    /// The best variant for a device.
    pub fn on(device: Device) -> Self {
        Self { fused: device.is_cpu(), device, plain: CpuBackend::new() }
    }

    /// On the CPU with composed operations as on other devices, for comparison in tests.
    pub fn composed() -> Self {
        Self { fused: false, ..Self::default() }
    }

    /// The device of its tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Default for TrainingBackend {
    fn default() -> Self {
        Self::on(Device::Cpu)
    }
}

impl Backend for TrainingBackend {
    type Tensor = Tensor;
    type Gram = CpuGram;

    const IN_MEMORY: bool = true;

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        run("layer_norm", || {
            if self.fused {
                return apply_3(LayerNorm { eps }, x, weight, bias);
            }
            composed::layer_norm(x, weight, bias, eps)
        })
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        run("rms_norm", || {
            if self.fused {
                return apply_2(RmsNorm { eps }, x, weight);
            }
            composed::rms_norm(x, weight, eps)
        })
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        run("linear", || {
            let y = x.matmul(&weight.t()?)?;
            match bias {
                Some(bias) if self.fused => apply_2(AddRow, &y, bias),
                Some(bias) => y.broadcast_add(bias),
                None => Ok(y),
            }
        })
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        run("rotate", || {
            if !self.fused {
                return composed::rotate(x, rotary);
            }
            let values = |table: &Tensor| table.flatten_all()?.to_vec1();
            let op = Rotate {
                cos: values(&rotary.cos)?,
                sin: values(&rotary.sin)?,
                half: rotary.rotary_dim / 2,
                head_dim: rotary.head_dim,
                width: x.dim(1)?,
            };
            apply_1(op, x)
        })
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
        run("attention", || {
            let is_plain = shape.is_plain() && shape.causal && shape.reach.is_none();
            if !self.fused || !is_plain || shape.kv_heads != shape.heads {
                return composed::attention(q, k, v, shape);
            }
            let (rows, width) = q.dims2()?;
            let windows = rows / shape.seq_len;
            let heads = |x: &Tensor| {
                let heads = x.reshape((windows, shape.seq_len, shape.heads, shape.head_dim))?;
                heads.transpose(1, 2)?.contiguous()
            };
            let scores = heads(q)?.matmul(&heads(k)?.t()?)?;
            let scale = shape.scale as f32;
            let weights = apply_1(CausalSoftmax { seq_len: shape.seq_len, scale }, &scores)?;
            weights.matmul(&heads(v)?)?.transpose(1, 2)?.reshape((rows, width))
        })
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        run("activation", || match activation {
            Activation::GeluTanh if self.fused => apply_1(Gelu, x),
            _ => composed::activation(x, activation),
        })
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        run("gated", || match activation {
            Activation::Silu if self.fused => apply_2(SwiGlu, gate, up),
            _ => composed::gated(gate, up, activation),
        })
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        run("next_token_nll", || {
            if self.fused {
                return apply_1(TokenNll { targets: targets.to_vec() }, logits);
            }
            composed::next_token_nll(logits, targets)
        })
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.plain.row_cosines(a, b)
    }

    fn info(&self) -> DeviceInfo {
        if self.device.is_cpu() {
            return self.plain.info();
        }
        DeviceInfo { backend: device::name(&self.device), ..DeviceInfo::default() }
    }

    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        let tensor = self.plain.upload(name, shape, data)?;
        run("upload", || tensor.to_device(&self.device))
    }

    fn shape(&self, tensor: &Tensor) -> Shape {
        self.plain.shape(tensor)
    }

    async fn read_all(&self, tensors: &[&Tensor]) -> Result<Vec<Vec<f32>>> {
        self.plain.read_all(tensors).await
    }

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        self.plain.gather(table, ids)
    }

    fn reshape(&self, x: &Tensor, shape: Shape) -> Result<Tensor> {
        run("reshape", || x.reshape((shape.rows, shape.cols)))
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.plain.add(a, b)
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        self.plain.standardise(x, mean, scale)
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.plain.row_distance_ratios(a, b)
    }

    fn row_squared_distances(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.plain.row_squared_distances(a, b)
    }

    fn window_products(&self, a: &Tensor, b: &Tensor, seq_len: usize, skip: usize) -> Result<Tensor> {
        self.plain.window_products(a, b, seq_len, skip)
    }

    fn transpose(&self, x: &Tensor) -> Result<Tensor> {
        self.plain.transpose(x)
    }

    fn combine(&self, a: &Tensor, alpha: f64, b: &Tensor, beta: f64) -> Result<Tensor> {
        self.plain.combine(a, alpha, b, beta)
    }

    fn gelu_gradient(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        self.plain.gelu_gradient(x, gradient)
    }

    fn adam(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
        self.plain.adam(state, gradient, step)
    }

    async fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<CpuGram> {
        self.plain.gram(shape, x, y).await
    }

    fn accumulate(&self, gram: &mut CpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        let (x, y) = run("accumulate", || Ok((rows.x.to_device(&Device::Cpu)?, rows.y.to_device(&Device::Cpu)?)))?;
        self.plain.accumulate(gram, GramRows { x: &x, y: &y, ..rows })
    }

    async fn batch_end(&self, gram: Option<&mut CpuGram>) -> Result<()> {
        self.plain.batch_end(gram).await
    }

    async fn wait(&self) -> Result<()> {
        self.plain.wait().await
    }

    async fn moments(&self, gram: CpuGram) -> Result<Vec<Moments>> {
        self.plain.moments(gram).await
    }
}

/// Runs candle code, naming the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}
