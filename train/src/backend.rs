//! [`CpuBackend`] with fused operations where training spends its time: the same function, the same gradients. \[candle-core\]

use candle_core::Tensor;
use straightedge::backend::{Activation, Adam, AdamStep, AttentionShape, Backend, GramRows, GramShape, Rotary, Shape};
use straightedge::cpu::{CpuBackend, CpuGram};
use straightedge::error::{Error, Result};
use straightedge::moments::{Moments, Scale};
use straightedge::report::DeviceInfo;

use crate::fused::{AddRow, CausalSoftmax, Gelu, LayerNorm, RmsNorm, Rotate, SwiGlu, TokenNll};
use crate::op::{apply_1, apply_2, apply_3};

/// The engine's operations, quick to take gradients of.
#[derive(Clone, Debug, Default)]
pub struct TrainingBackend {
    cpu: CpuBackend,
}

impl Backend for TrainingBackend {
    type Tensor = Tensor;
    type Gram = CpuGram;

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        run("layer_norm", || apply_3(LayerNorm { eps }, x, weight, bias))
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        run("rms_norm", || apply_2(RmsNorm { eps }, x, weight))
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        run("linear", || {
            let y = x.matmul(&weight.t()?)?;
            match bias {
                Some(bias) => apply_2(AddRow, &y, bias),
                None => Ok(y),
            }
        })
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        run("rotate", || {
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
        if !shape.causal || shape.kv_heads != shape.heads {
            return self.cpu.attention(q, k, v, shape);
        }
        run("attention", || {
            let (rows, width) = q.dims2()?;
            let windows = rows / shape.seq_len;
            let heads = |x: &Tensor| {
                let heads = x.reshape((windows, shape.seq_len, shape.heads, shape.head_dim))?;
                heads.transpose(1, 2)?.contiguous()
            };
            let scores = heads(q)?.matmul(&heads(k)?.t()?)?;
            let scale = (shape.head_dim as f32).sqrt().recip();
            let weights = apply_1(CausalSoftmax { seq_len: shape.seq_len, scale }, &scores)?;
            weights.matmul(&heads(v)?)?.transpose(1, 2)?.reshape((rows, width))
        })
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        match activation {
            Activation::GeluTanh => run("activation", || apply_1(Gelu, x)),
            _ => self.cpu.activation(x, activation),
        }
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        match activation {
            Activation::Silu => run("gated", || apply_2(SwiGlu, gate, up)),
            _ => self.cpu.gated(gate, up, activation),
        }
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        run("next_token_nll", || apply_1(TokenNll { targets: targets.to_vec() }, logits))
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.cpu.row_cosines(a, b)
    }

    fn info(&self) -> DeviceInfo {
        self.cpu.info()
    }

    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        self.cpu.upload(name, shape, data)
    }

    fn shape(&self, tensor: &Tensor) -> Shape {
        self.cpu.shape(tensor)
    }

    async fn read(&self, tensor: &Tensor) -> Result<Vec<f32>> {
        self.cpu.read(tensor).await
    }

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        self.cpu.gather(table, ids)
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.cpu.add(a, b)
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        self.cpu.standardise(x, mean, scale)
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.cpu.row_distance_ratios(a, b)
    }

    fn transpose(&self, x: &Tensor) -> Result<Tensor> {
        self.cpu.transpose(x)
    }

    fn combine(&self, a: &Tensor, alpha: f64, b: &Tensor, beta: f64) -> Result<Tensor> {
        self.cpu.combine(a, alpha, b, beta)
    }

    fn gelu_gradient(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        self.cpu.gelu_gradient(x, gradient)
    }

    fn adam(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
        self.cpu.adam(state, gradient, step)
    }

    fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<CpuGram> {
        self.cpu.gram(shape, x, y)
    }

    fn accumulate(&self, gram: &mut CpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        self.cpu.accumulate(gram, rows)
    }

    async fn settle(&self, grams: &mut [CpuGram]) -> Result<()> {
        self.cpu.settle(grams).await
    }

    async fn moments(&self, gram: &CpuGram) -> Result<Vec<Moments>> {
        self.cpu.moments(gram).await
    }
}

/// Runs candle code, naming the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}
