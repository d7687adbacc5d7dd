//! Solves a block's least squares, then takes its measures.

use web_time::Instant;

use super::{BlockMeasures, SolvedBlock, Visit};
use crate::backend::Backend;
use crate::error::Result;
use crate::job::Measure;
use crate::learning::SMALL_BIAS;
use crate::report::{BlockReport, Warning, WarningKind};
use crate::run::pass::Pass;
use crate::solve::{BlockScore, InputDistribution};
use crate::trace::Lane;
use crate::workers::SolvedMoments;
use crate::workers::sums::BlockSums;

/// How far rounding may move R² without a warning.
const R2_DIGITS: f64 = 1e-6;

impl<B: Backend> Pass<'_, B> {
    /// Solves a block, while `at_once` blocks are solved at the same time.
    pub(super) async fn solve(
        &self,
        block: usize,
        sums: BlockSums<'_, B>,
        at_once: usize,
    ) -> Result<SolvedBlock<B::Tensor>> {
        let started = Instant::now();
        let folds = sums.moments().await?;
        let asks = self.asks(Measure::Controls);
        let inputs = asks.then(|| InputDistribution::new(block, &folds)).transpose()?;
        let SolvedMoments { score, helped } = self.workers.score(block, folds, at_once).await?;
        if let Some((helper, time)) = helped {
            self.out.helper_span(Lane::Solve, block, (helper, Some(time)));
        }
        let BlockScore { report, heldout_variation, heldout_mean, map, deviation_y, directions, r2_rounding } = score;
        self.add_seconds(|seconds| &mut seconds.solve, started.elapsed().as_secs_f64());
        Ok(SolvedBlock {
            report,
            heldout_variation,
            heldout_mean,
            map,
            deviation_y,
            directions,
            r2_rounding,
            inputs,
            replacements: Vec::new(),
        })
    }

    /// Takes all measures of a solved block.
    pub(super) async fn measure_solved(
        &self,
        visit: &Visit<'_, B>,
        solved: &mut SolvedBlock<B::Tensor>,
        measures: &mut BlockMeasures<'_, B>,
    ) -> Result<()> {
        self.warn(solved);
        for measure in measures {
            measure.measure(visit, solved).await?;
        }
        Ok(())
    }

    fn warn(&self, SolvedBlock { report, map, r2_rounding, .. }: &SolvedBlock<B::Tensor>) {
        let (block, d_in) = (report.block, map.mean_x.len());
        let train_rows = self.folds.train_rows(&self.job.protocol);
        let warn = |kind| self.out.warn(Warning::of_block(block, &kind));
        if train_rows < 2 * d_in {
            warn(WarningKind::FewRows { train_rows, d_in });
        }
        if let Some(expected) = self.expected_rank.filter(|expected| report.rank < *expected) {
            let which = if self.is_of_rows() { ", and directions tiny beside the largest rows," } else { "" };
            let inputs = format!("constant or linearly dependent inputs{which}");
            warn(WarningKind::ClippedRank { rank: report.rank, expected, inputs });
        }
        self.bias(report, train_rows).into_iter().for_each(warn);
        if r2_rounding.is_infinite() {
            warn(WarningKind::NoDigits);
        } else if !(*r2_rounding <= R2_DIGITS) {
            warn(WarningKind::LostDigits { error: format!("{:.0e}", rounded_up(*r2_rounding, 1)) });
        }
        if report.r2_lin.is_none() {
            warn(WarningKind::NoVariance);
        }
    }

    /// The warning that more rows would raise R²; `None` if they would not, or if that is uncertain.
    fn bias(&self, report: &BlockReport, train_rows: usize) -> Option<WarningKind> {
        let (limit, error) = (report.r2_limit?, report.r2_limit_error?);
        let bias = limit - report.r2_lin?;
        // In simulations, the limit is off by less than half of this error.
        if !(bias > SMALL_BIAS && bias > error) {
            return None;
        }
        let rows = self.folds.all().len() * self.job.protocol.seq_len;
        let needed = rounded_up(report.rows_needed? / train_rows as f64 * rows as f64, 2);
        Some(WarningKind::MoreRows {
            bias: format!("{bias:.3}"),
            error: format!("{error:.3}"),
            per_input: format!("{:.1}", report.rows_per_input?),
            rows: format!("{needed:.0}"),
            bound: SMALL_BIAS.to_string(),
        })
    }
}

/// The next number of so many significant digits.
fn rounded_up(value: f64, digits: u8) -> f64 {
    if value.is_infinite() {
        return value;
    }
    let step = 10f64.powf(value.log10().floor() + 1.0 - f64::from(digits));
    (value / step).ceil() * step
}
