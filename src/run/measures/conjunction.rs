//! `conjunction`: how far a network's response is from additive in its inputs (docs/measures.md, section 5).

use futures::FutureExt;

use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::event::Event;
use crate::forward::Layers;
use crate::platform::random::Random;
use crate::report::finite;
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Visit};

use super::captured::Captured;

/// Held-out rows used.
const ROWS: usize = 2048;
/// Number of random splits into halves.
const SPLITS: u64 = 8;
/// Rows at a time.
const ROWS_AT_ONCE: usize = 1024;
/// Separates this use of the seed from others.
const HALVES: u64 = 0x63_6f_6e;

/// Rows with either half of their features set to the training means.
pub(super) struct MaskedRows {
    d: usize,
    /// Row-major.
    x: Vec<f32>,
    mean: Vec<f32>,
    /// Per split and feature, whether it belongs to the first half.
    splits: Vec<Vec<bool>>,
}

impl MaskedRows {
    /// The first held-out rows of `rows`, with splits that depend only on seed and block.
    pub(super) fn new(rows: &Captured, mean_x: &[f64], seed: u64, block: usize) -> Self {
        let d = rows.d_in;
        let heldout = rows.heldout();
        let first = heldout.first().map_or(0, |id| *id as usize);
        let x = rows.x[first * d..(first + heldout.len().min(ROWS)) * d].to_vec();
        let halves = |split: u64| {
            let mut order: Vec<usize> = (0..d).collect();
            Random::stream(seed, &[HALVES, block as u64, split]).shuffle(&mut order);
            let mut in_first = vec![false; d];
            order[..d / 2].iter().for_each(|&feature| in_first[feature] = true);
            in_first
        };
        let mean = mean_x.iter().map(|&mean| mean as f32).collect();
        Self { d, x, mean, splits: (0..SPLITS).map(halves).collect() }
    }

    /// `rows` with one half of the features set to the means.
    fn without(&self, rows: &[f32], split: &[bool], half: bool) -> Vec<f32> {
        let value = |(i, &x): (usize, &f32)| if split[i % self.d] == half { self.mean[i % self.d] } else { x };
        rows.iter().enumerate().map(value).collect()
    }
}

/// Σ‖f(x) − f(x∖A) − f(x∖B) + f(x∖A∖B)‖² over rows and splits, over Σ‖f(x) − f(x∖A)‖² + Σ‖f(x) − f(x∖B)‖².
///
/// Both halves together are all features, so f(x∖A∖B) is the same for every row. `None` if no output changes.
pub(super) async fn conjunction<B: Backend>(
    backend: &B,
    silenced: &MaskedRows,
    meter: &StageMeter,
    network: &dyn Fn(&B::Tensor) -> Result<B::Tensor>,
) -> Result<Option<f64>> {
    let of = async |rows: &[f32]| {
        let x = backend.upload("rows", Shape::new(rows.len() / silenced.d, silenced.d), rows)?;
        backend.read(&network(&x)?).await
    };
    let nothing = of(&silenced.mean).await?;
    let (mut together, mut apart) = (0.0, 0.0);
    for rows in silenced.x.chunks(ROWS_AT_ONCE * silenced.d) {
        let whole = of(rows).await?;
        for split in &silenced.splits {
            let without_a = of(&silenced.without(rows, split, true)).await?;
            let without_b = of(&silenced.without(rows, split, false)).await?;
            let outputs = whole.iter().zip(&without_a).zip(&without_b).zip(nothing.iter().cycle());
            for (((&f, &a), &b), &none) in outputs {
                let [f, a, b, none] = [f, a, b, none].map(f64::from);
                together += (f - a - b + none).powi(2);
                apart += (f - a).powi(2) + (f - b).powi(2);
            }
            meter.yield_now().await;
        }
    }
    Ok(finite(together / apart))
}

/// The conjunction index of every block's own network.
pub(super) struct Conjunction<'a, B: Backend> {
    pub(super) pass: &'a Pass<'a, B>,
    pub(super) layers: &'a Layers<'a, B>,
    pub(super) meter: StageMeter,
}

impl<B: Backend> BlockMeasure<B> for Conjunction<'_, B> {
    fn needs_weights(&self) -> bool {
        true
    }

    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        async {
            let Some(block) = &visit.block else { return Ok(()) };
            self.meter.resume();
            let Pass { backend, job, folds, out, .. } = *self.pass;
            let rows = Captured::of(visit, folds, &job.protocol).await?;
            let silenced = MaskedRows::new(&rows, &solved.map.mean_x, job.protocol.seed, visit.index);
            drop(rows);
            let network = |x: &B::Tensor| self.layers.network(&block.ffn, x);
            solved.report.conjunction = conjunction(backend, &silenced, &self.meter, &network).await?;
            out.emit(Event::Block(Box::new(solved.report.clone()))).await;
            self.meter.advance(1).await;
            self.meter.pause();
            self.pass.set_seconds(|seconds| &mut seconds.conjunction, &self.meter);
            Ok(())
        }
        .boxed_local()
    }
}
