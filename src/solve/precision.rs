//! How far rounding may have moved a block's R²: what the report has to say where six digits cannot be promised.
//!
//! Sums of products in f64 are exact to about ε of the values that were added, but R² depends on differences of such
//! sums. Where a few rows are many deviations away, or a column is far from its shift, the difference is small beside
//! the sums, and digits are lost. The bound follows the rounding of the sums through the fit (first-order change of W)
//! and through the held-out error.

use super::fit::LinearFit;
use super::score::Totals;
use super::training::Training;
use crate::stats::moments::Moments;

/// Relative rounding of a sum of products in f64.
const ROUNDING: f64 = f64::EPSILON;

/// The rounding of R² over one held-out fold, as a function of that R².
#[derive(Clone, Copy, Debug)]
pub(super) struct R2Rounding {
    /// Of the held-out error itself, and what a changed W adds in second order.
    constant: f64,
    /// Times √(1 − R²): what a changed W adds in first order.
    root: f64,
    /// Times 1 − R²: of the denominator.
    linear: f64,
}

impl R2Rounding {
    /// How far `r2` may be off, relative to its magnitude if that is above 1.
    pub(super) fn of(&self, r2: f64) -> f64 {
        let missing = (1.0 - r2).max(0.0);
        (self.constant + self.root * missing.sqrt() + self.linear * missing) / r2.abs().max(1.0)
    }
}

/// What the rounding of training sums does to the map of a fit.
pub(super) struct MapRounding<'a> {
    fit: &'a LinearFit,
    train: &'a Training<'a>,
    /// Σ of the squared change of ŷ over all outputs, per row of the training set.
    change: f64,
}

impl<'a> MapRounding<'a> {
    /// For the fit on `train`.
    pub(super) fn new(fit: &'a LinearFit, train: &'a Training<'a>) -> Self {
        let squares_x = about_shift(&train.variance_x, &train.mean_x);
        let squares_y = about_shift(&train.variance_y, &train.mean_y);
        let reach: f64 = reaches(fit, &squares_x, &squares_y).iter().map(|reach| reach * reach).sum();
        let smallest = fit.eigenvalues.largest(&[fit.rank()][..fit.rank().min(1)]).first().copied().unwrap_or(1.0);
        let varying = train.inverse_deviations();
        let spread = squares_x.iter().zip(&varying).map(|(square, inverse)| square * inverse * inverse);
        let change = ROUNDING * ROUNDING * spread.fold(1.0, f64::max) * fit.rank() as f64 / smallest * reach;
        Self { fit, train, change }
    }

    /// The rounding of R² over `rows`.
    pub(super) fn of(&self, rows: &Moments) -> R2Rounding {
        let (n, d_in) = (rows.n as f64, rows.d_in());
        let (train, own_x, own_y) = (self.train, rows.mean_x(), rows.mean_y());
        let added = |sum: f64, own: f64, mean: f64| sum / n + (own - mean).powi(2);
        let squares_x: Vec<f64> =
            (0..d_in).map(|i| added(rows.xx[i * (d_in + 1)], own_x[i], train.mean_x[i])).collect();
        let squares_y: Vec<f64> =
            (0..rows.d_out()).map(|f| added(rows.yy_diagonal[f], own_y[f], train.mean_y[f])).collect();
        let evaluated: f64 = reaches(self.fit, &squares_x, &squares_y).iter().map(|reach| reach * reach).sum();
        // How much farther the held-out rows reach than those that the map was fitted on.
        let centred = rows.variance_x().into_iter().zip(own_x.iter().zip(&train.mean_x));
        let centred = centred.map(|(variance, (own, mean))| variance + (own - mean).powi(2));
        let farther = centred.zip(train.inverse_deviations()).map(|(square, inverse)| square * inverse * inverse);
        let change = self.change * farther.fold(1.0, f64::max);
        let variation = Totals::new(rows).vector / n;
        R2Rounding {
            constant: (ROUNDING * evaluated + change) / variation,
            root: 2.0 * (change / variation).sqrt(),
            linear: ROUNDING * squares_y.iter().sum::<f64>() / variation,
        }
    }
}

/// Mean squares of values about their shift.
fn about_shift(variance: &[f64], mean: &[f64]) -> Vec<f64> {
    variance.iter().zip(mean).map(|(variance, mean)| variance + mean * mean).collect()
}

/// Per output: the root of the mean square of y plus that of the terms of ŷ, as far as roundings do not cancel.
fn reaches(fit: &LinearFit, squares_x: &[f64], squares_y: &[f64]) -> Vec<f64> {
    let terms = |f: usize| fit.weight.col(f).iter().zip(squares_x).map(|(weight, square)| weight * weight * square);
    squares_y.iter().enumerate().map(|(f, square)| square.sqrt() + terms(f).sum::<f64>().sqrt()).collect()
}
