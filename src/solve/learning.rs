//! Fits on parts of the training folds, scored on the same held-out fold: the learning curve of docs/measures.md,
//! section 2.
//!
//! A part is a run of neighbouring folds. Only parts that cut the same directions as the fit on all rows are scored,
//! so that each costs no more than a Cholesky factor and its products.

use std::ops::Range;

use faer::Mat;

use super::folds::proved_error;
use super::score::Totals;
use super::training::Training;
use crate::learning::LearningPoint;
use crate::platform::parallel;
use crate::stats::moments::Moments;

/// Most parts of one size.
const PARTS: usize = 4;
/// Fewest training rows of a part, in units of the inputs: with fewer, the error is far from its law.
const ROWS_PER_INPUT: f64 = 1.5;

/// Disjoint runs of as many training folds.
pub(super) struct Groups(Vec<Range<usize>>);

impl Groups {
    /// Runs of half of the training folds, rounded down.
    pub(super) fn halves(folds: &[Moments]) -> Self {
        Self::of(folds.len() - 1, 2)
    }

    /// Runs of a quarter of the training folds, rounded down.
    pub(super) fn quarters(folds: &[Moments]) -> Self {
        Self::of(folds.len() - 1, 4)
    }

    fn of(training_folds: usize, share: usize) -> Self {
        let size = training_folds / share;
        let count = training_folds.checked_div(size).unwrap_or(0).min(PARTS);
        Self((0..count).map(|at| at * size..(at + 1) * size).collect())
    }

    /// R² of the fit on every run; `None` if there is none, or too few rows. `cut` are the directions that the fit on
    /// all training rows cuts.
    pub(super) fn score(&self, folds: &[Moments], cut: &Mat<f64>) -> Option<LearningPoint> {
        let (heldout, training) = folds.split_last()?;
        let rows = |run: &Range<usize>| training[run.clone()].iter().map(|fold| fold.n as f64).sum::<f64>();
        let least = self.0.iter().map(rows).reduce(f64::min)?;
        if least < ROWS_PER_INPUT * heldout.d_in() as f64 {
            return None;
        }
        let totals = Totals::new(heldout);
        let r2 = |run: &Range<usize>| {
            let train = Training::new(training[run.clone()].iter().collect());
            totals.r2(proved_error(&train, heldout, cut)?)
        };
        let mean = self.0.iter().map(rows).sum::<f64>() / self.0.len() as f64;
        Some(LearningPoint { rows: mean, r2: parallel::map(&self.0, r2) })
    }
}
