//! `layers`: linearity of whole layers and the size of their updates (docs/measures.md, section 7). The sweep measures
//! their effect on perplexity.

use crate::backend::Backend;
use crate::error::Result;
use crate::replacement::swap::Replacement;
use crate::report::{LayerReport, finite};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::sweep::{StoredRows, Visit};
use crate::solve::{self, LayerScore};
use crate::workers::sums::BlockSums;

/// Measures layer after layer, with the residual stream before and after it as x and y.
pub(in crate::run) struct LayerMeasure<'a, B: Backend> {
    pass: &'a Pass<'a, B>,
    meter: StageMeter,
    reports: Vec<LayerReport>,
}

/// The affine map of a measured layer.
pub(in crate::run) struct MeasuredLayer<T> {
    pub(in crate::run) map: Replacement<T>,
}

impl<'a, B: Backend> LayerMeasure<'a, B> {
    /// `meter` counts rows through layers.
    pub(in crate::run) fn new(pass: &'a Pass<'a, B>, meter: StageMeter) -> Self {
        Self { pass, meter, reports: Vec::new() }
    }

    /// Measures the layer of a visit, each layer once and in order.
    pub(in crate::run) async fn measure(&mut self, visit: &Visit<'_, B>) -> Result<MeasuredLayer<B::Tensor>> {
        self.meter.go();
        let Pass { backend, job, folds, .. } = *self.pass;
        let layer = visit.index;
        let mut sums = BlockSums::new(backend, layer, folds.len(), &job.protocol, None);
        let (mut ratio, mut counted) = (0.0, 0);
        for rows in &visit.rows {
            let (Some(part), Some(before), Some(after)) = (rows.batch.part, &rows.hidden, &rows.next) else { continue };
            let tensor = |kept: &StoredRows<_>| visit.store.tensor(kept);
            let (before, after) = (tensor(before)?, tensor(after)?);
            let ratios = backend.row_distance_ratios(&before, &after)?;
            sums.add((part, &rows.batch.windows), &before, &after).await?;
            for window in backend.read(&ratios).await?.chunks_exact(job.protocol.seq_len) {
                let counting = &window[job.protocol.skip_positions..];
                ratio += counting.iter().map(|&ratio| f64::from(ratio)).sum::<f64>();
                counted += counting.len();
            }
            self.meter.advance((rows.batch.windows.len() * job.protocol.seq_len) as u64).await;
        }
        let LayerScore { linearity, linearity_heldout, linearity_no_residual, map } =
            solve::score_layer(layer, &sums.moments().await?)?;
        let mut report = LayerReport {
            layer,
            linearity,
            linearity_heldout,
            linearity_no_residual,
            update_norm_ratio: finite(ratio / f64::from(counted as u32)),
            ..LayerReport::default()
        };
        report.delta_ppl.extend(["removed", "linear"].map(|name| (name.to_owned(), None)));
        self.reports.push(report);
        self.meter.rest();
        self.pass.took(|seconds| &mut seconds.layers, &self.meter);
        Ok(MeasuredLayer { map: Replacement::affine(backend, &map)? })
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
