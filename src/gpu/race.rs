//! Which kernels a device runs fastest: they compete once, on small problems, when a device is first opened.
//!
//! Software adapters and real GPUs differ by a factor of ten in opposite directions: a barrier is ruinous for the one,
//! and neighbouring threads that read far apart for the other. The result is remembered for as long as the program (or
//! the page's worker) runs, so that only the first measurement pays for it.

use std::cell::RefCell;

use super::attention::{self, Heads};
use super::engine::Engine;
use super::kernels::{Kernel, LAYER_NORM, LAYER_NORM_GROUP, NormParams};
use super::matmul::{self, Pace};
use crate::backend::AttentionShape;
use crate::error::Result;

/// Who works on a row in kernels that reduce one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One thread, without a barrier.
    Thread,
    /// A workgroup, over its memory.
    Group,
}

impl Reduction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Thread, Self::Group];
}

/// How attention loads heads whose width is a multiple of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// Value by value, as for any width.
    One,
    /// Four values at a time.
    Four,
}

impl Loads {
    /// Both.
    pub const ALL: [Self; 2] = [Self::One, Self::Four];
}

/// Rows and columns of the norm's race.
const NORM: [usize; 2] = [256, 768];
/// Attention's race: a quarter of GPT-2's heads over one window of the usual length.
const ATTENTION: AttentionShape = AttentionShape { heads: 3, kv_heads: 3, head_dim: 64, seq_len: 128, causal: true };

thread_local! {
    /// The device raced last, and what it came to.
    static REMEMBERED: RefCell<Option<(String, Pace)>> = const { RefCell::new(None) };
}

/// Holds all races, or remembers them.
pub(super) async fn race(engine: &Engine) -> Result<Pace> {
    let info = &engine.device.probe.info;
    let device = format!("{:?} {:?}", info.adapter, info.driver);
    let known =
        REMEMBERED.with_borrow(|known| known.as_ref().filter(|(name, _)| *name == device).map(|(_, pace)| *pace));
    if let Some(pace) = known {
        return Ok(pace);
    }
    let mut pace = matmul::race(engine).await?;
    pace.reduction = Reduction::ALL[norms(engine).await?];
    pace.loads = Loads::ALL[attentions(engine, &pace).await?];
    REMEMBERED.with_borrow_mut(|known| *known = Some((device, pace)));
    Ok(pace)
}

/// The index of the faster kernel of [`Reduction::ALL`].
async fn norms(engine: &Engine) -> Result<usize> {
    let [rows, cols] = NORM;
    let buffer = |values: usize| engine.zeros(4 * values as u64);
    let (x, weight, out) = (buffer(rows * cols), buffer(cols), buffer(rows * cols));
    let params = NormParams { rows: rows as u32, cols: cols as u32, eps: 1.0 };
    let kernels: [(&'static Kernel, [u32; 3]); 2] =
        [(&LAYER_NORM, engine.grid(&LAYER_NORM, rows)), (&LAYER_NORM_GROUP, engine.group_grid(rows))];
    fastest(engine, kernels.len(), |index| {
        let (kernel, workgroups) = kernels[index];
        engine.dispatch(kernel, &params, &[&x, &weight, &weight, &out], workgroups, 0.0);
        Ok(())
    })
    .await
}

/// The index of the faster way of [`Loads::ALL`].
async fn attentions(engine: &Engine, pace: &Pace) -> Result<usize> {
    let values = ATTENTION.seq_len * ATTENTION.heads * ATTENTION.head_dim;
    let (zeros, out) = (engine.zeros(4 * values as u64), engine.zeros(4 * values as u64));
    let heads = Heads { q: &zeros, k: &zeros, v: &zeros, out: &out, windows: 1 };
    fastest(engine, Loads::ALL.len(), |index| {
        let pace = Pace { loads: Loads::ALL[index], flops_per_ms: f64::INFINITY, ..*pace };
        attention::record(engine, &pace, &heads, ATTENTION)
    })
    .await
}

/// The index of the fastest of `count` ways to `record` the same work.
async fn fastest(engine: &Engine, count: usize, record: impl Fn(usize) -> Result<()>) -> Result<usize> {
    let mut best = (f64::INFINITY, 0);
    for index in 0..count {
        let ms = matmul::shortest_ms(engine, || record(index)).await?;
        if ms < best.0 {
            best = (ms, index);
        }
    }
    Ok(best.1)
}
