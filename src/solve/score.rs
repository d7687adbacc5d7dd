//! One block's scores: fit on the training folds, score on the held-out one, cross-validate over all.

use faer::Mat;

use super::fit::{self, AffineMap, LinearFit};
use super::project::Projected;
use super::rank::Directions;
use super::{median, participation, rank};
use crate::error::Result;
use crate::moments::Moments;
use crate::report::{BlockReport, finite};

/// Share of r2_lin that the effective rank must reach.
const EFFECTIVE_SHARE: f64 = 0.9;
/// A feature whose held-out deviation is below this share of its mean is constant to f32 precision.
const CONSTANT: f64 = 1.0 / (1 << 22) as f64;

/// What moments tell about a block, and the map itself.
#[derive(Clone, Debug)]
pub struct BlockScore {
    /// Every field that follows from moments; `cosine` is left empty.
    pub report: BlockReport,
    /// W* and b* of the headline fit.
    pub map: AffineMap,
    /// Directions of its reduced-rank maps.
    pub directions: Directions,
}

/// Fits and scores `block` from the moments of its folds; the last fold is held out, and carries the full yyᵀ.
pub fn score_block(block: usize, folds: &[Moments]) -> Result<BlockScore> {
    let heldout_fold = folds.len() - 1;
    let train = Moments::all_but(folds, heldout_fold);
    let heldout = &folds[heldout_fold];
    let fit = LinearFit::new(block, &train)?;
    let rows = Projected::new(&fit, heldout);
    let zz_coefficients = &rows.zz * &fit.coefficients;
    let errors = rows.squared_errors(&fit, &zz_coefficients);
    let totals = Totals::new(heldout);
    let r2_lin = totals.r2(errors.iter().sum());

    let mut report = BlockReport { block, r2_lin, rank: fit.rank(), ..BlockReport::default() };
    report.r2_lin_scalar = totals.r2_scalar(errors.iter().sum());
    report.r2_features = totals.r2_features(&errors);
    report.r2_feature_median = median(report.r2_features.iter().flatten().copied().collect());
    report.rmse = finite((errors.iter().sum::<f64>() / (rows.n * errors.len() as f64)).sqrt());
    report.condition = fit::condition(block, &train, fit.rank())?;
    report.scaled_condition = fit.scaled_condition();
    report.input_participation = fit::input_participation(&train);
    report.input_variance_ratio = variance_ratio(train.variance_x());
    report.output_variance_ratio = variance_ratio(train.variance_y());
    report.output_participation =
        heldout.yy.as_ref().and_then(|yy| rank::output_participation(yy, &heldout.mean_y(), rows.n));

    let predicted = fit.coefficients.transpose() * &zz_coefficients;
    report.prediction_participation = participation(&prediction_covariance(&fit, &rows, &predicted));
    let directions = Directions::new(block, &fit)?;
    let rank_errors = rank::squared_errors(&rows, &fit, &directions, &predicted);
    report.r2_rank = rank_errors.into_iter().map(|error| totals.r2(error)).collect();
    report.effective_rank = r2_lin.filter(|r2| *r2 > 0.0).and_then(|r2| {
        let enough = report.r2_rank.iter().position(|r2_rank| r2_rank.is_some_and(|at_k| at_k >= EFFECTIVE_SHARE * r2));
        enough.map(|index| index + 1)
    });

    cross_validate(block, folds, r2_lin, &mut report)?;
    Ok(BlockScore { report, map: fit.map(&train), directions })
}

/// R² with each fold held out in turn, their mean and sample standard deviation.
fn cross_validate(block: usize, folds: &[Moments], last: Option<f64>, report: &mut BlockReport) -> Result<()> {
    for (fold, heldout) in folds.iter().enumerate().take(folds.len() - 1) {
        let fit = LinearFit::new(block, &Moments::all_but(folds, fold))?;
        let rows = Projected::new(&fit, heldout);
        let errors = rows.squared_errors(&fit, &(&rows.zz * &fit.coefficients));
        report.r2_folds.push(Totals::new(heldout).r2(errors.iter().sum()));
    }
    report.r2_folds.push(last);
    let known: Vec<f64> = report.r2_folds.iter().flatten().copied().collect();
    if known.len() == folds.len() {
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let squares: f64 = known.iter().map(|r2| (r2 - mean).powi(2)).sum();
        report.r2_cv_mean = finite(mean);
        report.r2_cv_std = finite((squares / (known.len() - 1) as f64).sqrt());
    }
    Ok(())
}

/// Held-out sums of squares about the held-out means: the denominators of R².
pub(super) struct Totals {
    /// Per feature; `None` where the feature has no held-out variance.
    features: Vec<Option<f64>>,
    /// About one mean per feature.
    vector: f64,
    /// About one mean for all elements.
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
        let vector = features.iter().flatten().sum();
        let scalar = vector + means.iter().map(|mean| n * (mean - grand).powi(2)).sum::<f64>();
        Self { features, vector, scalar }
    }

    /// 1 − error/total; `None` where nothing varies.
    pub(super) fn r2(&self, error: f64) -> Option<f64> {
        finite(1.0 - error / self.vector).filter(|_| self.vector > 0.0)
    }

    fn r2_scalar(&self, error: f64) -> Option<f64> {
        finite(1.0 - error / self.scalar).filter(|_| self.scalar > 0.0)
    }

    fn r2_features(&self, errors: &[f64]) -> Vec<Option<f64>> {
        let pairs = self.features.iter().zip(errors);
        pairs.map(|(total, error)| total.and_then(|total| finite(1.0 - error / total))).collect()
    }
}

/// Held-out Cov(ŷ) from Σ(ŷ − ȳ)(ŷ − ȳ)ᵀ.
fn prediction_covariance(fit: &LinearFit, rows: &Projected, predicted: &Mat<f64>) -> Mat<f64> {
    let mean = super::project_vector(&fit.coefficients, &rows.mean_z);
    Mat::from_fn(mean.len(), mean.len(), |i, j| predicted[(i, j)] / rows.n - mean[i] * mean[j])
}

/// Largest variance over the median one; `None` where the median is zero.
fn variance_ratio(variances: Vec<f64>) -> Option<f64> {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    median(variances).and_then(|median| finite(largest / median))
}
