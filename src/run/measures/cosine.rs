//! `cosine` and `scatter`: what moments cannot tell of the held-out rows, the mean cosine of ŷ and y, and some of both
//! side by side.

use std::ops::Range;

use futures::future::{FutureExt, LocalBoxFuture};

use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, MapDump};
use crate::job::Protocol;
use crate::report::{Scatter, finite};
use crate::run::Pass;
use crate::run::sweep::{BlockMeasure, Pair, Solved, Visit};
use crate::solve::AffineMap;
use crate::swap::DeviceMap;

/// Values of ŷ and y that a report shows side by side, or a few more.
const SHOWN: usize = 192;
/// Features are gone through in these steps of their number, which comes back to none of them soon.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// The first measure of every block: with it the block is shown.
pub(super) struct Cosine<'a, B>(pub(super) &'a Pass<'a, B>);

impl<B: Backend> BlockMeasure<B> for Cosine<'_, B> {
    fn measure<'a>(
        &'a mut self,
        visit: &'a Visit<'_, B>,
        solved: &'a mut Solved<B::Tensor>,
    ) -> LocalBoxFuture<'a, Result<()>> {
        self.look(visit, solved).boxed_local()
    }
}

impl<B: Backend> Cosine<'_, B> {
    async fn look(&self, visit: &Visit<'_, B>, solved: &mut Solved<B::Tensor>) -> Result<()> {
        let Pass { backend, job, out, .. } = *self.0;
        let protocol = &job.protocol;
        let map = DeviceMap::upload(backend, &solved.map)?;
        let scaled = Scaled { map: &solved.map, deviation_y: &solved.deviation_y };
        let share = SHOWN.div_ceil(visit.heldout().count());
        // Of every batch the cosines, and rows of y and ŷ to be shown; all are read at once.
        let mut tensors = Vec::new();
        for pair in visit.heldout() {
            let Pair { windows, x, y, .. } = pair?;
            let shown = rows_to_show(windows.len(), protocol, share);
            let predicted = map.apply(backend, &x)?;
            tensors.push(backend.row_cosines(&predicted, &y)?);
            tensors.extend([backend.gather(&y, &shown)?, backend.gather(&predicted, &shown)?]);
        }
        let values = backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?;
        let (mut cosine, mut counted, mut scatter) = (0.0, 0, Scatter::default());
        for (at, of_batch) in values.chunks_exact(3).enumerate() {
            let [cosines, actual, predicted] = of_batch else { continue };
            for window in cosines.chunks_exact(protocol.seq_len) {
                let counting = &window[protocol.skip_positions..];
                cosine += counting.iter().map(|&cosine| f64::from(cosine)).sum::<f64>();
                counted += counting.len();
            }
            let shown = actual.len() / solved.map.mean_y.len();
            scaled.pair(at * share..at * share + shown, actual, predicted, &mut scatter);
        }
        // Rows of zeros have no direction.
        let report = &mut solved.report;
        report.cosine = finite(cosine / counted as f64).filter(|_| report.r2_lin.is_some());
        report.scatter = Some(scatter);
        out.send(Event::Block(Box::new(report.clone())));
        if job.dump_maps {
            out.send(Event::Map(Box::new(dump(report.block, &solved.map))));
        }
        Ok(())
    }
}

/// A map with its block, as plain data.
fn dump(block: usize, map: &AffineMap) -> MapDump {
    let AffineMap { weight, mean_x, deviation_x, mean_y, rank: _ } = map.clone();
    MapDump { block, weight, bias: map.bias(), mean_x, deviation_x, mean_y }
}

/// Rows of a batch, about `share` of them and evenly apart, none at a position that is skipped.
fn rows_to_show(windows: usize, protocol: &Protocol, share: usize) -> Vec<u32> {
    let kept = protocol.seq_len - protocol.skip_positions;
    let (all, share) = (windows * kept, share.min(windows * kept));
    let row = |at: usize| {
        let at = at * all / share;
        (at / kept * protocol.seq_len + protocol.skip_positions + at % kept) as u32
    };
    (0..share).map(row).collect()
}

/// A block's map, and the scale of what it predicts.
struct Scaled<'a> {
    map: &'a AffineMap,
    /// Training standard deviation of every output.
    deviation_y: &'a [f64],
}

impl Scaled<'_> {
    /// Takes one feature of every row, in units of its training standard deviation; `numbers` go on over all batches.
    fn pair(&self, numbers: Range<usize>, actual: &[f32], predicted: &[f32], scatter: &mut Scatter) {
        let features = self.deviation_y.len();
        let rows = actual.chunks_exact(features).zip(predicted.chunks_exact(features));
        for (number, (actual, predicted)) in numbers.zip(rows) {
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
        let protocol = Protocol { seq_len: 4, skip_positions: 1, ..Protocol::default() };
        assert_eq!(rows_to_show(2, &protocol, 3), [1, 3, 6]);
        assert_eq!(rows_to_show(2, &protocol, 100), [1, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn pairs_are_in_deviations_of_their_feature_and_constant_features_are_left_out() {
        let mean_y = vec![1.0, 10.0];
        let map = AffineMap { weight: vec![0.0; 2], mean_x: vec![0.0], deviation_x: vec![1.0], mean_y, rank: 1 };
        let asked = Scaled { map: &map, deviation_y: &[0.0, 2.0] };
        let mut scatter = Scatter::default();
        asked.pair(0..2, &[1.0, 0.0, 0.0, 14.0], &[1.0, 0.0, 0.0, 13.0], &mut scatter);
        assert_eq!(scatter, Scatter { actual: vec![2.0], predicted: vec![1.5] });
    }
}
