//! Attention in three kernels: scores, softmax, weighted values; a fourth caps scores and adds ALiBi where a model has
//! them.
//!
//! Windows and heads are processed in groups whose scores fit a bounded buffer.

use super::choice::KernelChoice;
use super::device::{Buffer, Engine};
use super::kernels::products::TILE;
use super::kernels::rows::{ATTENTION_SOFTMAX, SoftmaxParams};
use super::kernels::{ATTENTION_SCORES, ATTENTION_TERMS, ATTENTION_VALUES, ScoresParams, TermsParams, ValuesParams};
use crate::backend::AttentionShape;
use crate::error::{Error, Result};

/// Bytes of scores kept at a time.
const SCORES_BYTES: u64 = 64 << 20;
/// Throughput relative to a matrix product.
const SHARE: f64 = 0.5;

/// Queries, keys, values and the output buffer.
pub(super) struct Heads<'a> {
    pub(super) q: &'a Buffer,
    pub(super) k: &'a Buffer,
    pub(super) v: &'a Buffer,
    pub(super) out: &'a Buffer,
    pub(super) windows: usize,
}

/// Records attention of every window and head.
pub(super) fn record(engine: &Engine, choice: &KernelChoice, heads: &Heads<'_>, shape: AttentionShape) -> Result<()> {
    // In a browser these may exceed `usize`.
    let entry_bytes = 4 * (shape.seq_len as u64).pow(2);
    let limit = engine.device.max_bytes();
    if entry_bytes > limit {
        return Err(Error::DeviceLimit { what: "attention of one window".into(), needed: entry_bytes, limit });
    }
    let entry_ms = choice.ms(2.0 * (shape.seq_len as f64).powi(2) * shape.head_dim as f64 / SHARE);
    let by_memory = (SCORES_BYTES.min(limit) / entry_bytes).max(1) as usize;
    let by_time = (engine.pacer.dispatch_ms() / entry_ms).max(1.0) as usize;
    let by_grid = engine.device.max_workgroups();
    let step = by_memory.min(by_time).min(by_grid);

    let entries = heads.windows * shape.heads;
    let scores = engine.output(entry_bytes * step.min(entries) as u64);
    let attention = AttentionEntries { engine, choice, heads, shape, scores: &scores };
    for first in (0..entries).step_by(step) {
        let count = step.min(entries - first);
        attention.record([first, count], entry_ms * count as f64);
    }
    Ok(())
}

/// Attention of some windows and heads, through one buffer of scores.
struct AttentionEntries<'a> {
    engine: &'a Engine,
    choice: &'a KernelChoice,
    heads: &'a Heads<'a>,
    shape: AttentionShape,
    scores: &'a Buffer,
}

impl AttentionEntries<'_> {
    /// Records `count` windows and heads from `first` on, each of whose kernels takes about `ms` milliseconds.
    fn record(&self, [first, count]: [usize; 2], ms: f64) {
        let Self { engine, choice, heads, shape, scores } = *self;
        let causal = u32::from(shape.causal);
        let [seq_len, head_dim] = [shape.seq_len as u32, shape.head_dim as u32];
        let [tiles, feature_tiles] = [shape.seq_len, shape.head_dim].map(|side| side.div_ceil(TILE) as u32);
        let (q_heads, kv_heads, first, count) = (shape.heads as u32, shape.kv_heads as u32, first as u32, count as u32);

        let scale = shape.scale as f32;
        let params = ScoresParams { seq_len, heads: q_heads, kv_heads, head_dim, first, causal, scale };
        let groups = [tiles * tiles, count, 1];
        engine.dispatch(&ATTENTION_SCORES, &params, &[heads.q, heads.k, scores], groups, ms);

        let rows = count * seq_len;
        if !shape.is_plain() {
            let softcap = shape.softcap.unwrap_or(0.0);
            let params = TermsParams { len: rows * seq_len, seq_len, heads: q_heads, first, softcap };
            let slopes = engine.input(bytemuck::cast_slice(&shape.slopes()));
            let groups = engine.grid(&ATTENTION_TERMS, params.len as usize);
            engine.dispatch(&ATTENTION_TERMS, &params, &[&slopes, scores], groups, ms);
        }

        let reach = shape.reach.unwrap_or(shape.seq_len).min(shape.seq_len) as u32;
        let params = SoftmaxParams { rows, seq_len, causal, reach };
        let kernel = choice.reduction.of(&ATTENTION_SOFTMAX);
        engine.dispatch(kernel, &params, &[scores], engine.group_grid(rows as usize), ms);

        let params = ValuesParams { seq_len, heads: q_heads, kv_heads, head_dim, first, causal };
        let groups = [tiles * feature_tiles, count, 1];
        engine.dispatch(&ATTENTION_VALUES, &params, &[scores, heads.v, heads.out], groups, ms);
    }
}
