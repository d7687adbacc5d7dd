//! How far rounding may have moved a block's R²: what the report has to say where six digits cannot be promised.
//!
//! Sums of products in f64 are exact to about ε of the values that were added, but R² depends on differences of such
//! sums. Where a few rows are many deviations away, or a column is far from its shift, the difference is small beside
//! the sums, and digits are lost. The estimate follows the rounding of the sums through the map (first-order change of
//! W) and through the held-out error. All columns count as much as the worst one.

use super::fit::LinearFit;
use super::score::Totals;
use super::training::TrainingMoments;
use crate::stats::moments::Moments;

/// Rounding of a sum of n products in f64, relative to the sum of their magnitudes and to √n.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

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
    /// How far `r2` may be off, relative to its magnitude if that is above 1; infinite if nothing is known.
    pub(super) fn of(&self, r2: f64) -> f64 {
        // The variance itself may be rounding.
        if self.linear >= 1.0 {
            return f64::INFINITY;
        }
        let missing = (1.0 - r2).max(0.0);
        let off = (self.constant + self.root * missing.sqrt() + self.linear * missing) / r2.abs().max(1.0);
        if off.is_nan() { f64::INFINITY } else { off }
    }
}

/// The rounding of R² over every fold, the others used for training; `fit` is that with the last one held out.
pub(super) fn roundings(fit: &LinearFit, train: &TrainingMoments<'_>, folds: &[Moments]) -> Vec<R2Rounding> {
    let smallest = fit.eigenvalues.largest(&[fit.rank()][..fit.rank().min(1)]).first().copied().unwrap_or(1.0);
    let (stretch, weights) = (fit.rank() as f64 / smallest, weights(fit, train));
    let of = |fold: usize| of_fold(&TrainingMoments::all_but(folds, fold), &folds[fold], stretch, &weights);
    (0..folds.len()).map(of).collect()
}

/// Per output: Σ W²σ² over the variance of y; at least 1, since other folds have other maps.
fn weights(fit: &LinearFit, train: &TrainingMoments<'_>) -> Vec<f64> {
    let of = |(f, variance): (usize, &f64)| {
        let squares =
            fit.weight.col(f).iter().zip(&train.variance_x).map(|(weight, variance)| weight * weight * variance);
        (squares.sum::<f64>() / variance).max(1.0)
    };
    train.variance_y.iter().enumerate().map(of).collect()
}

/// `stretch` bounds the trace of C⁻¹.
fn of_fold(train: &TrainingMoments<'_>, rows: &Moments, stretch: f64, weights: &[f64]) -> R2Rounding {
    let (n, d_in) = (rows.n as f64, rows.d_in());
    let (own_x, own_y, inverse) = (rows.mean_x(), rows.mean_y(), train.inverse_deviations());
    let rounding = ROUNDING * (train.n + n).sqrt();
    // Mean squares in units of σ², of the worst column: about the shift in training, about the training mean in the
    // held-out sums before and after the shift is taken out.
    let worst = |square: &dyn Fn(usize) -> f64| (0..d_in).map(|i| square(i) * inverse[i].powi(2)).fold(1.0, f64::max);
    let off = |i: usize| (own_x[i] - train.mean_x[i]).powi(2);
    let trained = worst(&|i| train.variance_x[i] + train.mean_x[i].powi(2));
    let added = worst(&|i| rows.xx[i * (d_in + 1)] / n + off(i));
    let variance = rows.variance_x();
    let farther = worst(&|i| variance[i] + off(i));

    // Per output: the root of the mean square of y plus that of the terms of ŷ, as far as roundings do not cancel.
    let reach = |square_y: f64, f: usize, square_x: f64| {
        (square_y.sqrt() + (weights[f] * train.variance_y[f] * square_x).sqrt()).powi(2)
    };
    let d_out = rows.d_out();
    let square_y = |f: usize| rows.yy_diagonal[f] / n + (own_y[f] - train.mean_y[f]).powi(2);
    let in_training: f64 = (0..d_out).map(|f| reach(train.variance_y[f] + train.mean_y[f].powi(2), f, trained)).sum();
    let held_out: f64 = (0..d_out).map(|f| reach(square_y(f), f, added)).sum();

    let change = rounding * rounding * trained * stretch * in_training * farther;
    let variation = Totals::new(rows).vector / n;
    R2Rounding {
        constant: (rounding * held_out + change) / variation,
        root: 2.0 * (change / variation).sqrt(),
        linear: rounding * (0..d_out).map(square_y).sum::<f64>() / variation,
    }
}
