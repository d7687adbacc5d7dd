//! Reduced-rank maps: the held-out R² of W_k = W*·V_k·V_kᵀ for every k (MEASURES.md section 3).

use faer::{Mat, Side};

use super::fit::{LinearFit, unsolved};
use super::project::Projected;
use super::{column_dots, matrix};
use crate::error::Result;

/// V: eigenvectors of the training covariance of ŷ, largest first, d_out × d_out.
pub(super) fn directions(block: usize, fit: &LinearFit) -> Result<Mat<f64>> {
    // Cov(ŷ) = Cov(z, y)ᵀ·Λ⁻¹·Cov(z, y).
    let covariance = fit.cross.transpose() * &fit.coefficients;
    let eigen = covariance.self_adjoint_eigen(Side::Lower).map_err(|error| unsolved(block, error))?;
    let ascending = eigen.U();
    let d = ascending.ncols();
    Ok(Mat::from_fn(d, d, |i, k| ascending[(i, d - 1 - k)]))
}

/// Σ‖y − ŷ_k‖² for k = 1 … d_out, given V, zz·coefficients and Σ(ŷ − ȳ)(ŷ − ȳ)ᵀ.
pub(super) fn squared_errors(
    rows: &Projected,
    fit: &LinearFit,
    directions: &Mat<f64>,
    predicted: &Mat<f64>,
) -> Vec<f64> {
    // ‖y − V_kV_kᵀŷ‖² = ‖y‖² − Σ_{i≤k} vᵢᵀ(2ŷyᵀ − ŷŷᵀ)vᵢ, all centred at the training means.
    let gain = fit.coefficients.transpose() * &rows.zy * faer::Scale(2.0) - predicted;
    let gains = column_dots(directions, &(gain * directions));
    let total: f64 = rows.yy.iter().sum();
    gains
        .iter()
        .scan(total, |left, gain| {
            *left -= gain;
            Some(*left)
        })
        .collect()
}

/// (Σλ)²/Σλ² of the held-out Cov(y).
pub(super) fn output_participation(yy: &[f64], mean: &[f64], n: f64) -> Option<f64> {
    let yy = matrix(yy, mean.len(), mean.len());
    super::participation(&Mat::from_fn(mean.len(), mean.len(), |i, j| yy[(i, j)] / n - mean[i] * mean[j]))
}
