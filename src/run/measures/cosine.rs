//! `cosine`, `scatter` and intervals: held-out results that moments cannot give, the mean cosine of ŷ and y, sample
//! pairs of both, and what resampling the windows gives.

use futures::FutureExt;

use crate::backend::{BATCH_ROWS, Backend};
use crate::error::Result;
use crate::event::Event;
use crate::job::Protocol;
use crate::replacement::device_map::DeviceMap;
use crate::report::{Scatter, Warning, WarningKind};
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, RankGains, RowScores, SolvedBlock, Visit, WindowSums, XyBatch};
use crate::solve::{AffineMap, EFFECTIVE_SHARE};
use crate::stats::bootstrap::Resamples;

/// Approximate number of (y, ŷ) pairs in a report, rounded up to equal shares.
const SHOWN: usize = 192;
/// Step between sampled features as a fraction of d_out: the golden ratio spreads them evenly and repeats late.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Lengths of a typical row whose cosines are computed: the square of a row a hundred times as long or as short is
/// still a normal number in f32.
const LENGTHS: std::ops::Range<f64> = 1e-17..1e17;

/// The first measure of every block; it sends the block's first event.
pub(super) struct Cosine<'a, B>(pub(super) &'a Pass<'a, B>);

impl<B: Backend> BlockMeasure<B> for Cosine<'_, B> {
    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.measure_visit(visit, solved).boxed_local()
    }
}

impl<B: Backend> Cosine<'_, B> {
    async fn measure_visit(&self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        let Pass { backend, job, out, .. } = *self.0;
        let protocol = &job.protocol;
        let map = DeviceMap::upload(backend, &solved.map)?;
        let scaled = ScaledMap { map: &solved.map, deviation_y: &solved.deviation_y };
        let groups = Groups::of(protocol);
        let heldout = visit.rows.iter().filter(|rows| rows.batch.fold() == Some(visit.folds - 1));
        let share = SHOWN.div_ceil(heldout.map(|rows| groups.count(rows.batch.windows.len())).sum());
        let scores = RowScores::new(backend, &solved.heldout_mean)?;
        let gains = RankGains::new(backend, solved, protocol)?;
        // Per batch: sampled rows of y and of ŷ, scores, gains of ranks. All are read at once.
        let (mut tensors, mut numbers, mut exact, mut first) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for pair in visit.heldout() {
            let XyBatch { windows, x, y, .. } = pair?;
            let shown = groups.rows_to_show(windows.len(), share);
            numbers.push(shown.iter().map(|(number, _)| first * share + number).collect::<Vec<_>>());
            first += groups.count(windows.len());
            let shown: Vec<u32> = shown.into_iter().map(|(_, row)| row).collect();
            let predicted = map.apply(backend, &x)?;
            if self.0.is_of_rows() {
                exact.push(solved.map.cosines(&backend.read(&x).await?, &backend.read(&y).await?));
            }
            tensors.extend([backend.gather(&y, &shown)?, backend.gather(&predicted, &shown)?]);
            tensors.extend(scores.of(backend, &y, &predicted)?);
            tensors.push(gains.of(backend, &y, &predicted)?);
        }
        let values = backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?;
        let (mut scatter, mut sums, mut of_ranks) = (Scatter::default(), WindowSums::default(), Vec::new());
        for (batch, (of_batch, numbers)) in values.chunks_exact(7).zip(numbers).enumerate() {
            let [actual, predicted, of_rows @ .., gains] = of_batch else { continue };
            sums.add(of_rows, exact.get(batch).map(Vec::as_slice), protocol);
            of_ranks.extend(gains.iter().copied().map(f64::from));
            scaled.pair(numbers, actual, predicted, &mut scatter);
        }
        let report = &mut solved.report;
        let mean = sums.cosine(protocol);
        let is_known = report.r2_lin.is_some() && (self.0.is_of_rows() || scaled.squares_fit());
        report.cosine = mean.filter(|_| is_known);
        if report.cosine.is_none() && report.r2_lin.is_some() {
            out.warn(Warning::of_block(report.block, &WarningKind::NoCosine));
        }
        report.scatter = Some(scatter);
        if report.r2_lin.is_some() {
            let resamples = Resamples::new(sums.windows(), protocol.seed);
            sums.add_to(report, &resamples, protocol);
            let of_windows = [sums.errors(), sums.totals(), &of_ranks];
            if let Some(interval) = resamples.effective_rank(of_windows, EFFECTIVE_SHARE) {
                report.intervals.insert("effective_rank".into(), interval);
            }
        }
        out.send(Event::Block(Box::new(report.clone())));
        if job.dump_maps {
            out.send(Event::Map(Box::new(solved.map.clone().dump(report.block, None))));
        }
        Ok(())
    }
}

/// Groups of windows from which rows are sampled. Their size is independent of the batch size (a batch holds whole
/// groups), so that every device samples the same rows.
struct Groups {
    seq_len: usize,
    skip: usize,
    windows: usize,
}

impl Groups {
    fn of(&Protocol { seq_len, skip_positions: skip, .. }: &Protocol) -> Self {
        Self { seq_len, skip, windows: (BATCH_ROWS / seq_len).max(1) }
    }

    /// Number of groups in a batch.
    fn count(&self, windows: usize) -> usize {
        windows.div_ceil(self.windows)
    }

    /// Sampled rows of a batch with their numbers: about `share` per group, evenly spaced, none at a skipped position.
    fn rows_to_show(&self, windows: usize, share: usize) -> Vec<(usize, u32)> {
        let kept = self.seq_len - self.skip;
        let of_group = |group: usize| {
            let first = group * self.windows;
            let all = (windows - first).min(self.windows) * kept;
            let share_here = share.min(all);
            (0..share_here).map(move |number| {
                let at = number * all / share_here;
                let row = (first + at / kept) * self.seq_len + self.skip + at % kept;
                (group * share + number, row as u32)
            })
        };
        (0..self.count(windows)).flat_map(of_group).collect()
    }
}

/// A block's map, and the scale of its outputs.
struct ScaledMap<'a> {
    map: &'a AffineMap,
    /// Training standard deviation of every output.
    deviation_y: &'a [f64],
}

impl ScaledMap<'_> {
    /// Whether the squared length of a typical output is well within the range of f32.
    fn squares_fit(&self) -> bool {
        let squares = self.map.mean_y.iter().chain(self.deviation_y).map(|value| value * value);
        LENGTHS.contains(&squares.sum::<f64>().sqrt())
    }

    /// Samples one feature per row in units of its training deviation; `numbers` count on across batches.
    fn pair(&self, numbers: Vec<usize>, actual: &[f32], predicted: &[f32], scatter: &mut Scatter) {
        let features = self.deviation_y.len();
        let rows = actual.chunks_exact(features).zip(predicted.chunks_exact(features));
        for (number, (actual, predicted)) in numbers.into_iter().zip(rows) {
            let feature = ((number as f64 * GOLDEN).fract() * features as f64) as usize;
            let scaled = |value: f32| (f64::from(value) - self.map.mean_y[feature]) / self.deviation_y[feature];
            scatter.push(scaled(actual[feature]), scaled(predicted[feature]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_to_show_are_spread_over_the_windows_and_skip_what_is_skipped() {
        let groups = Groups { seq_len: 4, skip: 1, windows: 2 };
        assert_eq!(groups.rows_to_show(2, 3), [(0, 1), (1, 3), (2, 6)]);
        assert_eq!(groups.rows_to_show(2, 100), [(0, 1), (1, 2), (2, 3), (3, 5), (4, 6), (5, 7)]);
        // A batch of three groups, the last one half as long.
        let three = groups.rows_to_show(5, 3);
        assert_eq!(three, [(0, 1), (1, 3), (2, 6), (3, 9), (4, 11), (5, 14), (6, 17), (7, 18), (8, 19)]);
    }

    #[test]
    fn pairs_are_in_deviations_of_their_feature_and_constant_features_are_left_out() {
        let mean_y = vec![1.0, 10.0];
        let map = AffineMap { weight: vec![0.0; 2], mean_x: vec![0.0], deviation_x: vec![1.0], mean_y, rank: 1 };
        let scaled = ScaledMap { map: &map, deviation_y: &[0.0, 2.0] };
        let mut scatter = Scatter::default();
        scaled.pair(vec![0, 1], &[1.0, 0.0, 0.0, 14.0], &[1.0, 0.0, 0.0, 13.0], &mut scatter);
        assert_eq!(scatter, Scatter { actual: vec![2.0], predicted: vec![1.5] });
    }
}
