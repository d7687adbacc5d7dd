//! The look at the held-out rows for what moments cannot tell, the mean cosine of ŷ and y, and some of both side by side:
//! the second one, or the only one where maps are fitted before.

use std::ops::Range;

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::Result;
use crate::job::Protocol;
use crate::report::Scatter;
use crate::solve::AffineMap;
use crate::swap::DeviceMap;

use super::events::Meter;
use super::rows::{RowSource, batches, gram_rows};

/// Values of ŷ and y that a report shows side by side, or a few more.
const SHOWN: usize = 192;
/// Features are gone through in these steps of their number, which comes back to none of them soon.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A block's map, and the scale of what it predicts.
pub(super) struct Asked<'a> {
    pub(super) map: &'a AffineMap,
    /// Training standard deviation of every output.
    pub(super) deviation_y: &'a [f64],
}

/// What the look found of a block.
pub(super) struct Seen {
    /// Mean over the counted held-out rows of cos(ŷ, y).
    pub(super) cosine: f64,
    pub(super) scatter: Scatter,
}

/// Looks at the held-out rows of every block, `asked` in the order of the source's blocks, and adds them to their second
/// moments where these lack them yet.
pub(super) async fn look<B: Backend>(
    backend: &B,
    source: &impl RowSource<B>,
    asked: &[Asked<'_>],
    mut lacking: Option<&mut [B::Gram]>,
    folds: &Folds,
    protocol: &Protocol,
    meter: &Meter,
) -> Result<Vec<Seen>> {
    let maps = asked.iter().map(|asked| DeviceMap::upload(backend, asked.map)).collect::<Result<Vec<_>>>()?;
    let mut seen: Vec<Seen> = asked.iter().map(|_| Seen { cosine: 0.0, scatter: Scatter::default() }).collect();
    let (mut counted, mut done) = (0, 0);
    let batches = batches(folds, folds.len() - 1..folds.len(), protocol.seq_len);
    let share = SHOWN.div_ceil(batches.len());
    for (at, batch) in batches.iter().enumerate() {
        let shown = rows_to_show(batch.windows.len(), protocol, share);
        let mut found = Vec::with_capacity(maps.len());
        source
            .show(batch, &mut |rows| {
                if let Some(gram) = lacking.as_mut().and_then(|grams| grams.get_mut(found.len())) {
                    backend.accumulate(gram, gram_rows(&rows, batch, protocol))?;
                }
                let predicted = maps[found.len()].apply(backend, &rows.x)?;
                let cosines = backend.row_cosines(&predicted, &rows.y)?;
                let pair = [&rows.y, &predicted].map(|values| backend.gather(values, &shown));
                found.push((cosines, pair));
                Ok(())
            })
            .await?;
        if let Some(grams) = &mut lacking {
            backend.settle(grams).await?;
        }
        for ((seen, asked), (cosines, [actual, predicted])) in seen.iter_mut().zip(asked).zip(found) {
            let cosines = backend.read(&cosines).await?;
            let windows = cosines.chunks_exact(protocol.seq_len);
            seen.cosine +=
                windows.flat_map(|window| &window[protocol.skip_positions..]).map(|&c| f64::from(c)).sum::<f64>();
            let (actual, predicted) = (backend.read(&actual?).await?, backend.read(&predicted?).await?);
            asked.pair(at * share..at * share + shown.len(), &actual, &predicted, &mut seen.scatter);
        }
        counted += batch.windows.len() * (protocol.seq_len - protocol.skip_positions);
        done += batch.windows.len() * protocol.seq_len;
        meter.reach(done as u64).await;
    }
    seen.iter_mut().for_each(|seen| seen.cosine /= counted as f64);
    Ok(seen)
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

impl Asked<'_> {
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
        let asked = Asked { map: &map, deviation_y: &[0.0, 2.0] };
        let mut scatter = Scatter::default();
        asked.pair(0..2, &[1.0, 0.0, 0.0, 14.0], &[1.0, 0.0, 0.0, 13.0], &mut scatter);
        assert_eq!(scatter, Scatter { actual: vec![2.0], predicted: vec![1.5] });
    }
}
