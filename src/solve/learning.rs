//! Fits on parts of the training folds, scored on the same held-out fold: the learning curve of docs/measures.md,
//! section 2.
//!
//! A part is a run of neighbouring folds. Only parts that cut the same directions as the fit on all rows are scored,
//! so that each costs no more than a Cholesky factor and its products.

use std::ops::Range;

use faer::Mat;

use super::folds::proved_error;
use super::score::Totals;
use super::training::TrainingMoments;
use crate::learning::LearningPoint;
use crate::platform::parallel;
use crate::stats::moments::Moments;

/// Fewest training rows of a part, in units of the inputs: with fewer, the error is far from its law.
const ROWS_PER_INPUT: f64 = 1.5;

/// Runs of neighbouring training folds, of one length each.
pub struct FoldRuns(Vec<Range<usize>>);

impl FoldRuns {
    /// The first half of the training folds of so many folds, rounded down.
    pub fn halves(folds: usize) -> Self {
        Self::of(folds - 1, 2)
    }

    /// The first quarter and the first half of the training folds of `folds` folds, rounded down.
    pub fn quarters(folds: usize) -> Self {
        Self::of(folds - 1, 4)
    }

    /// The runs, as ranges of folds.
    pub fn runs(&self) -> &[Range<usize>] {
        &self.0
    }

    fn of(training_folds: usize, share: usize) -> Self {
        let size = training_folds / share;
        // They make up the first half: more runs would add too much to the time of a solve.
        let count = if size == 0 { 0 } else { share / 2 };
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
            let train = TrainingMoments::new(training[run.clone()].iter().collect());
            totals.r2(proved_error(&train, heldout, cut)?)
        };
        let mean = self.0.iter().map(rows).sum::<f64>() / self.0.len() as f64;
        Some(LearningPoint { rows: mean, r2: parallel::map(&self.0, r2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_disjoint_and_as_long_as_their_share_allows() {
        let lengths = |folds: usize, share| {
            let runs = FoldRuns::of(folds, share).0;
            assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start), "{runs:?}");
            assert!(runs.last().is_none_or(|last| last.end <= folds), "{runs:?}");
            (runs.len(), runs.first().map_or(0, Range::len))
        };
        let [halves, quarters] = [2, 4].map(|share| [1, 2, 3, 4, 5, 9, 19].map(|folds| lengths(folds, share)));
        assert_eq!(halves, [(0, 0), (1, 1), (1, 1), (1, 2), (1, 2), (1, 4), (1, 9)]);
        assert_eq!(quarters, [(0, 0), (0, 0), (0, 0), (2, 1), (2, 1), (2, 2), (2, 4)]);
    }
}
