//! `layers`: linearity of whole layers and the size of their updates (docs/measures.md, section 7). The sweep measures
//! their effect on perplexity.

use super::properties::PropertySums;
use super::store::StoredRows;
use super::visit::Visit;
use super::window_sums::WindowSums;
use crate::backend::Backend;
use crate::corpus::Properties;
use crate::error::Result;
use crate::job::Protocol;
use crate::replacement::swap::Replacement;
use crate::report::{LayerReport, finite};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::solve::{self, LayerScore};
use crate::stats::bootstrap::Resamples;
use crate::workers::sums::BlockSums;

/// Measures layer after layer, with the residual stream before and after it as x and y.
pub(in crate::run) struct LayerMeasure<'a, B: Backend> {
    pass: &'a Pass<'a, B>,
    properties: &'a Properties,
    meter: StageMeter,
    reports: Vec<LayerReport>,
}

/// Most held-out rows whose neighbours are looked for.
const MOST_NEIGHBOURS: usize = 1024;

/// Evenly spaced held-out rows, none at a skipped position.
struct RowSample {
    seq_len: usize,
    skip: usize,
    /// Held-out rows, and how many of them are chosen.
    rows: usize,
    chosen: usize,
    /// Held-out rows so far, and the number of the next chosen one.
    seen: usize,
    next: usize,
}

impl RowSample {
    fn new(protocol: &Protocol, windows: usize) -> Self {
        let (seq_len, skip) = (protocol.seq_len, protocol.skip_positions);
        let rows = windows * (seq_len - skip);
        Self { seq_len, skip, rows, chosen: rows.min(MOST_NEIGHBOURS), seen: 0, next: 0 }
    }

    /// The chosen rows of the next batch, by their place in it.
    fn of(&mut self, windows: usize) -> Vec<u32> {
        let kept = self.seq_len - self.skip;
        let (first, mut found) = (self.seen, Vec::new());
        self.seen += windows * kept;
        while self.next < self.chosen && self.next * self.rows / self.chosen < self.seen {
            let at = self.next * self.rows / self.chosen - first;
            found.push((at / kept * self.seq_len + self.skip + at % kept) as u32);
            self.next += 1;
        }
        found
    }
}

/// The affine map of a measured layer.
pub(in crate::run) struct MeasuredLayer<T> {
    pub(in crate::run) map: Replacement<T>,
}

impl<'a, B: Backend> LayerMeasure<'a, B> {
    /// `meter` counts rows through layers.
    pub(in crate::run) fn new(pass: &'a Pass<'a, B>, properties: &'a Properties, meter: StageMeter) -> Self {
        Self { pass, properties, meter, reports: Vec::new() }
    }

    /// Measures the layer of a visit, each layer once and in order.
    pub(in crate::run) async fn measure(&mut self, visit: &Visit<'_, B>) -> Result<MeasuredLayer<B::Tensor>> {
        self.meter.resume();
        let Pass { backend, job, folds, .. } = *self.pass;
        let layer = visit.index;
        let mut sums = BlockSums::new(backend, layer, folds.len(), &job.protocol, None);
        let mut properties = PropertySums::new(backend, layer, folds, &job.protocol, self.properties);
        let (mut ratio, mut counted) = (0.0, 0);
        let mut sample = RowSample::new(&job.protocol, folds.windows(folds.len() - 1).len());
        let mut sampled = Vec::new();
        for rows in &visit.rows {
            let (Some(part), Some(before), Some(after)) = (rows.batch.part, &rows.hidden, &rows.next) else { continue };
            let tensor = |kept: &StoredRows<_>| visit.store.tensor(kept);
            let (before, after) = (tensor(before)?, tensor(after)?);
            if part.fold == folds.len() - 1 {
                let chosen = sample.of(rows.batch.windows.len());
                sampled.extend(backend.read(&backend.gather(&before, &chosen)?).await?);
            }
            let ratios = backend.row_distance_ratios(&before, &after)?;
            sums.add((part, &rows.batch.windows), &before, &after).await?;
            properties.add(part, &rows.batch.windows, &after).await?;
            for window in backend.read(&ratios).await?.chunks_exact(job.protocol.seq_len) {
                let counting = &window[job.protocol.skip_positions..];
                ratio += counting.iter().map(|&ratio| f64::from(ratio)).sum::<f64>();
                counted += counting.len();
            }
            self.meter.advance((rows.batch.windows.len() * job.protocol.seq_len) as u64).await;
        }
        let LayerScore { linearity, linearity_heldout, linearity_no_residual, anisotropy, heldout_mean, map } =
            solve::score_layer(layer, &sums.moments().await?)?;
        let width = map.mean_x.len();
        let map = Replacement::affine(backend, &map)?;
        let mut report = LayerReport {
            layer,
            linearity,
            linearity_heldout,
            linearity_no_residual,
            update_norm_ratio: finite(ratio / f64::from(counted as u32)),
            anisotropy,
            intrinsic_dimension: solve::intrinsic_dimension(&sampled, width),
            ..LayerReport::default()
        };
        report.delta_ppl.extend(["removed", "linear"].map(|name| (name.to_owned(), None)));
        let resamples = Resamples::new(folds.windows(folds.len() - 1).len(), job.protocol.seed);
        if linearity_heldout.is_some() {
            let (mut streams, predict) = (visit.heldout_streams(), |x: &B::Tensor| map.apply(backend, x));
            let sums = WindowSums::of(backend, &mut streams, &job.protocol, &heldout_mean, &predict).await?;
            report.add_uncertainty("linearity_heldout".into(), sums.r2(&resamples));
        }
        properties.score(visit, &resamples, &mut report).await?;
        self.reports.push(report);
        self.meter.pause();
        self.pass.set_seconds(|seconds| &mut seconds.layers, &self.meter);
        Ok(MeasuredLayer { map })
    }

    /// The reports so far.
    pub(in crate::run) fn reports(&self) -> &[LayerReport] {
        &self.reports
    }

    /// Restores the reports of a saved sweep.
    pub(in crate::run) fn restore(&mut self, reports: Vec<LayerReport>) {
        self.reports = reports;
    }

    /// The reports of all layers.
    pub(in crate::run) fn into_reports(self) -> Vec<LayerReport> {
        self.reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_rows_are_the_same_whatever_the_batches_are() {
        let protocol = Protocol { seq_len: 100, skip_positions: 10, ..Protocol::default() };
        let places = |batches: &[usize]| {
            let mut sample = RowSample::new(&protocol, batches.iter().sum());
            let mut first = 0;
            let mut all = Vec::new();
            for windows in batches {
                all.extend(sample.of(*windows).into_iter().map(|row| first * 100 + row as usize));
                first += windows;
            }
            all
        };
        let whole = places(&[24]);
        assert_eq!((whole.len(), &whole[..3]), (1024, &[10, 12, 14][..]));
        assert!(whole.iter().all(|row| row % 100 >= 10) && whole.is_sorted() && whole[1023] >= 2390);
        assert_eq!(places(&[8, 8, 8]), whole);
        assert_eq!(places(&[1, 22, 1]), whole);
        assert_eq!(places(&[2]).len(), 180, "few rows are all taken");
    }
}
