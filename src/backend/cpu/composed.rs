//! The operations of a forward pass as candle's own tensor operations, so that gradients flow through them.
//!
//! They run on the device and in the precision of their tensors: in f64 as the tests' oracle, in f32 for healing, and
//! on any candle device for the trainer. They create no empty tensors, because some devices refuse those.

use candle_core::{D, Result, Tensor};

use super::matmul::matmul;
use crate::backend::{Activation, AttentionShape, Rotary};
use crate::platform::parallel;

/// (x − mean)/√(var + eps)·weight + bias per row.
pub fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    normalise(&centred, eps)?.broadcast_mul(weight)?.broadcast_add(bias)
}

/// x/√(mean(x²) + eps)·weight per row.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    normalise(x, eps)?.broadcast_mul(weight)
}

/// x/√(mean(x²) + eps) per row.
fn normalise(x: &Tensor, eps: f32) -> Result<Tensor> {
    let variance = (x.sqr()?.mean_keepdim(D::Minus1)? + f64::from(eps))?;
    x.broadcast_div(&variance.sqrt()?)
}

/// Rows `ids` of `table`.
pub fn gather(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    table.index_select(&Tensor::from_slice(ids, ids.len(), table.device())?, 0)
}

/// Rotary position embedding.
pub fn rotate(x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
    let (rows, cols) = x.dims2()?;
    let (heads, half) = (cols / rotary.head_dim, rotary.rotary_dim / 2);
    let x = x.reshape((rows / rotary.seq_len, rotary.seq_len, heads, rotary.head_dim))?;
    let (first, second) = (x.narrow(3, 0, half)?, x.narrow(3, half, half)?);
    let table = |table: &Tensor| table.reshape((1, rotary.seq_len, 1, half));
    let (cos, sin) = (table(&rotary.cos)?, table(&rotary.sin)?);
    let mut parts = vec![
        (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
        (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
    ];
    let still = rotary.head_dim - 2 * half;
    if still > 0 {
        parts.push(x.narrow(3, 2 * half, still)?);
    }
    Tensor::cat(&parts, 3)?.reshape((rows, cols))
}

/// Attention within every window, on so many threads; `weights` maps raw scores `(windows, heads, seq_len, seq_len)` to
/// attention weights.
pub(super) fn attention_by(
    [q, k, v]: [&Tensor; 3],
    shape: AttentionShape,
    threads: usize,
    weights: impl FnOnce(Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let q = split_heads(q, shape.heads, shape)?;
    let (k, v) = (split_heads(k, shape.kv_heads, shape)?, split_heads(v, shape.kv_heads, shape)?);
    let scores = matmul(&q, &k.transpose(2, 3)?.contiguous()?, threads)?;
    let mixed = matmul(&weights(scores)?, &v, threads)?.transpose(1, 2)?;
    let windows = mixed.dim(0)?;
    mixed.reshape((windows * shape.seq_len, shape.heads * shape.head_dim))
}

/// Attention within every window.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
    attention_by([q, k, v], shape, parallel::threads(), |scores| attention_weights(scores, shape))
}

/// `(rows, heads·head_dim)` to `(windows, attention heads, seq_len, head_dim)`, with key and value heads repeated.
fn split_heads(x: &Tensor, heads: usize, shape: AttentionShape) -> Result<Tensor> {
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

/// Weights from raw scores q·k.
pub(super) fn attention_weights(scores: Tensor, shape: AttentionShape) -> Result<Tensor> {
    let mut scores = scores.affine(shape.scale, 0.0)?;
    if let Some(cap) = shape.softcap.map(f64::from) {
        scores = scores.affine(cap.recip(), 0.0)?.tanh()?.affine(cap, 0.0)?;
    }
    if shape.alibi {
        scores = scores.broadcast_add(&alibi(&scores, shape)?)?;
    }
    if shape.causal || shape.reach.is_some() {
        scores = scores.broadcast_add(&mask(&scores, shape)?)?;
    }
    // Softmax does not depend on the subtracted maximum, so no gradient flows through it.
    let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}

/// 0 for the positions that a position attends to, −∞ for all others.
fn mask(like: &Tensor, shape: AttentionShape) -> Result<Tensor> {
    let len = shape.seq_len;
    let hidden = |i: usize, j: usize| if shape.attended(i).contains(&j) { 0.0 } else { f32::NEG_INFINITY };
    let mask: Vec<f32> = (0..len * len).map(|at| hidden(at / len, at % len)).collect();
    Tensor::from_vec(mask, (1, 1, len, len), like.device())?.to_dtype(like.dtype())
}

/// slope·(j − i) of every head.
fn alibi(like: &Tensor, shape: AttentionShape) -> Result<Tensor> {
    let len = shape.seq_len;
    let slopes = Tensor::from_vec(shape.slopes(), (1, shape.heads, 1, 1), like.device())?;
    let distances: Vec<f32> = (0..len * len).map(|at| (at % len) as f32 - (at / len) as f32).collect();
    let distances = Tensor::from_vec(distances, (1, 1, len, len), like.device())?;
    slopes.to_dtype(like.dtype())?.broadcast_mul(&distances.to_dtype(like.dtype())?)
}

/// The activation of every element.
pub fn activation(x: &Tensor, activation: Activation) -> Result<Tensor> {
    match activation {
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => gelu_tanh(x),
        Activation::QuickGelu => x * sigmoid(&(x * 1.702)?)?,
        Activation::Relu => x.relu(),
        Activation::ReluSquared => x.relu()?.sqr(),
        Activation::Silu => x.silu(),
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => sigmoid(x),
        Activation::Identity => Ok(x.clone()),
    }
}

/// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))). The derivative of candle's own uses six-digit constants and powers of
/// negative numbers, which not every device supports.
fn gelu_tanh(x: &Tensor) -> Result<Tensor> {
    let root = (2.0 / std::f64::consts::PI).sqrt();
    let inner = (x * x.sqr()?.affine(0.044_715 * root, root)?)?;
    x * inner.tanh()?.affine(0.5, 0.5)?
}

fn sigmoid(x: &Tensor) -> Result<Tensor> {
    (x.neg()?.exp()? + 1.0)?.recip()
}

/// activation(gate) ⊙ up.
pub fn gated(gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
    self::activation(gate, activation)? * up
}

/// Cosine of every row of a with the same row of b; 0 where a row is 0.
pub fn row_cosines(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dot = (a * b)?.sum_keepdim(D::Minus1)?;
    let norms = (a.sqr()?.sum_keepdim(D::Minus1)?.sqrt()? * b.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?)?;
    dot / norms.maximum(f64::from(f32::MIN_POSITIVE))?
}

/// −log softmax(logits) at the target of every row.
pub fn next_token_nll(logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
    let largest = logits.max_keepdim(D::Minus1)?.detach();
    let total = logits.broadcast_sub(&largest)?.exp()?.sum_keepdim(D::Minus1)?.log()?;
    let targets = Tensor::from_slice(targets, (targets.len(), 1), logits.device())?;
    (largest + total)? - logits.gather(&targets, 1)?
}
