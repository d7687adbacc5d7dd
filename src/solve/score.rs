//! The components of scores: errors on the held-out rows and the denominators of R².

use faer::Mat;

use super::fit::{AffineMap, LinearFit};
use super::matrices::participation;
use super::project::{HeldOutMoments, Predicted};
use super::rank;
use super::rank::Directions;
use super::training::TrainingMoments;
use crate::agreement::median;
use crate::error::Result;
use crate::report::{BlockReport, ControlReport, finite};
use crate::stats::moments::Moments;

/// The effective rank is the smallest k whose R² reaches this share of r2_lin.
pub const EFFECTIVE_SHARE: f64 = 0.9;
/// The share of `effective_rank_95`.
pub(super) const SHARE_95: f64 = 0.95;
/// A feature whose held-out standard deviation is at most this share of its mean is constant to f32 precision: its own
/// R² would be one of rounding. Its variance and its error count in the R² of all features all the same.
const CONSTANT: f64 = 1.0 / (1 << 22) as f64;

/// A block's scores from its moments, and its map.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockScore {
    /// Every field that follows from moments; `cosine` is left empty.
    pub report: BlockReport,
    /// Held-out Σ‖y − ȳ_h‖²: the denominator of R².
    pub heldout_variation: f64,
    /// ȳ_h, one mean per output.
    pub heldout_mean: Vec<f64>,
    /// W* and b* of the headline fit.
    pub map: AffineMap,
    /// Training standard deviation of every output.
    pub deviation_y: Vec<f64>,
    /// Directions of the reduced-rank maps.
    pub directions: Directions,
    /// How far rounding may have moved R² over any fold, relative to values above 1.
    pub r2_rounding: f64,
}

/// (Σλ)²/Σλ² of the held-out Cov(y).
pub(super) fn output_participation(heldout: &Moments) -> Option<f64> {
    let (n, d, mean) = (heldout.n as f64, heldout.d_out(), heldout.mean_y());
    let yy = heldout.yy.as_ref()?;
    // Symmetric, so columns are read as rows.
    participation(d, |i, j| yy[j * d + i] / n - mean[i] * mean[j])
}

/// Only the headline numbers of `score_block`, at a fraction of its cost.
pub fn score_control(block: usize, folds: &[Moments]) -> Result<ControlReport> {
    let (train, heldout) = split(folds);
    let fit = LinearFit::new(block, &train)?;
    let headline = Headline::new(block, &fit, heldout)?;
    Ok(ControlReport {
        r2_lin: headline.r2_lin,
        r2_lin_scalar: headline.r2_lin_scalar(),
        r2_feature_median: headline.r2_feature_median(),
        effective_rank: headline.effective_rank(EFFECTIVE_SHARE),
    })
}

/// The training rows and the held-out fold, which is the last.
pub(super) fn split(folds: &[Moments]) -> (TrainingMoments<'_>, &Moments) {
    let heldout = folds.len() - 1;
    (TrainingMoments::all_but(folds, heldout), &folds[heldout])
}

/// Errors on the held-out rows of the fit on the training rows.
pub(super) struct Headline<'a> {
    fit: &'a LinearFit,
    pub(super) rows: HeldOutMoments,
    pub(super) totals: Totals,
    pub(super) predicted: Predicted,
    pub(super) r2_lin: Option<f64>,
    /// Σ(ŷ − ȳ)(ŷ − ȳ)ᵀ.
    squares: Mat<f64>,
    pub(super) directions: Directions,
    /// Eigenvalues of the training Cov(ŷ), ascending.
    pub(super) prediction_eigenvalues: Vec<f64>,
    pub(super) r2_rank: Vec<Option<f64>>,
}

impl<'a> Headline<'a> {
    pub(super) fn new(block: usize, fit: &'a LinearFit, heldout: &Moments) -> Result<Self> {
        // First, because it needs the most memory.
        let (directions, prediction_eigenvalues) = Directions::new(block, fit)?;
        let rows = HeldOutMoments::of(fit, heldout);
        let predicted = rows.predict(&fit.weight);
        let totals = Totals::new(heldout);
        let r2_lin = totals.r2(predicted.errors.iter().sum());
        let squares = predicted.squares(fit);
        let rank_errors = rank::squared_errors(&rows, fit, &directions, &squares);
        let r2_rank = rank_errors.into_iter().map(|error| totals.r2(error)).collect();
        Ok(Self { fit, rows, totals, predicted, r2_lin, squares, directions, prediction_eigenvalues, r2_rank })
    }

    /// (Σλ)²/Σλ² of the held-out Cov(ŷ).
    pub(super) fn prediction_participation(&self) -> Option<f64> {
        let (n, mean) = (self.rows.n, self.rows.mean_prediction(self.fit));
        participation(mean.len(), |i, j| self.squares[(i, j)] / n - mean[i] * mean[j])
    }

    pub(super) fn r2_lin_scalar(&self) -> Option<f64> {
        self.totals.r2_scalar(self.predicted.errors.iter().sum())
    }

    pub(super) fn r2_feature_median(&self) -> Option<f64> {
        median(self.totals.r2_features(&self.predicted.errors).into_iter().flatten().collect())
    }

    /// The smallest k whose R² reaches this share of r2_lin.
    pub(super) fn effective_rank(&self, share: f64) -> Option<usize> {
        let enough = share * self.r2_lin.filter(|r2| *r2 > 0.0)?;
        let reached = self.r2_rank.iter().position(|at_k| at_k.is_some_and(|r2| r2 >= enough));
        reached.map(|index| index + 1)
    }
}

/// Held-out sums of squares about the held-out means: the denominators of R².
pub(super) struct Totals {
    /// ȳ_h.
    pub(super) means: Vec<f64>,
    /// Per feature; `None` if the feature is constant to f32 precision.
    features: Vec<Option<f64>>,
    /// About one mean per feature.
    pub(super) vector: f64,
    /// About one mean over all elements.
    scalar: f64,
}

impl Totals {
    pub(super) fn new(heldout: &Moments) -> Self {
        let n = heldout.n as f64;
        let means: Vec<f64> = heldout.mean_y().iter().zip(&heldout.shift_y).map(|(mean, shift)| mean + shift).collect();
        let grand = means.iter().sum::<f64>() / means.len() as f64;
        let variances = heldout.variance_y();
        let varies = |variance: f64, mean: f64| variance.sqrt() > CONSTANT * mean.abs();
        let features: Vec<Option<f64>> =
            variances.iter().zip(&means).map(|(&v, &m)| varies(v, m).then_some(n * v)).collect();
        let vector = variances.iter().map(|variance| n * variance).sum();
        let scalar = vector + means.iter().map(|mean| n * (mean - grand).powi(2)).sum::<f64>();
        Self { means, features, vector, scalar }
    }

    /// 1 − error/total; `None` if nothing varies.
    pub(super) fn r2(&self, error: f64) -> Option<f64> {
        finite(1.0 - error / self.vector).filter(|_| self.vector > 0.0)
    }

    fn r2_scalar(&self, error: f64) -> Option<f64> {
        finite(1.0 - error / self.scalar).filter(|_| self.scalar > 0.0)
    }

    pub(super) fn r2_features(&self, errors: &[f64]) -> Vec<Option<f64>> {
        let pairs = self.features.iter().zip(errors);
        pairs.map(|(total, error)| total.and_then(|total| finite(1.0 - error / total))).collect()
    }
}

/// Largest divided by median variance; `None` if the median is zero.
pub(super) fn variance_ratio(variances: Vec<f64>) -> Option<f64> {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    median(variances).and_then(|median| finite(largest / median))
}
