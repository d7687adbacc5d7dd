//! Linearity of whole layers: how well the residual stream before a layer explains the stream after it
//! (docs/measures.md, section 7).

use super::LinearFit;
use super::eigenvalues::Eigenvalues;
use super::fit::AffineMap;
use super::project::HeldOutMoments;
use super::score::Totals;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::platform::parallel;
use crate::report::finite;
use crate::stats::moments::Moments;

/// Linearity of a layer from the moments of (h_ℓ, h_{ℓ+1}), and the affine map fitted on the training rows.
#[derive(Clone, Debug)]
pub struct LayerScore {
    /// 1 − min‖H̃_ℓM − H̃_{ℓ+1}‖² over all rows, in-sample.
    pub linearity: Option<f64>,
    /// The same, fitted on the training rows and scored on the held-out rows.
    pub linearity_heldout: Option<f64>,
    /// The same against h_{ℓ+1} − h_ℓ, in-sample.
    pub linearity_no_residual: Option<f64>,
    /// λ_1/Σλ of Cov(h_ℓ) over all rows.
    pub anisotropy: Option<f64>,
    /// Held-out means of h_{ℓ+1}, `(d)`.
    pub heldout_mean: Vec<f64>,
    /// h_{ℓ+1} as an affine function of h_ℓ.
    pub map: AffineMap,
}

/// The affine map fitted on all folds but the last.
pub fn fit_map(block: usize, folds: &[Moments]) -> Result<AffineMap> {
    let train = TrainingMoments::all_but(folds, folds.len() - 1);
    Ok(LinearFit::new(block, &train)?.map(&train))
}

/// Scores a layer from the moments of its folds; the last fold is held out.
pub fn score_layer(layer: usize, folds: &[Moments]) -> Result<LayerScore> {
    let heldout_fold = folds.len() - 1;
    let train = TrainingMoments::all_but(folds, heldout_fold);
    let heldout = &folds[heldout_fold];
    let all = TrainingMoments::new(folds.iter().collect());
    let (fit, in_sample) = parallel::join(|| LinearFit::new(layer, &train), || in_sample_error(layer, &all));
    let (fit, in_sample) = (fit?, in_sample?);
    let errors = HeldOutMoments::of(&fit, heldout).predict(&fit.weight).errors;
    let totals = Totals::new(heldout);
    Ok(LayerScore {
        linearity: share(in_sample, all.variance_y.iter().sum()),
        linearity_heldout: totals.r2(errors.iter().sum()),
        // Subtracting h_ℓ changes the target by a linear map of the input, so the residual is the same.
        linearity_no_residual: share(in_sample, update_variance(&all)),
        anisotropy: anisotropy(layer, &all)?,
        heldout_mean: totals.means,
        map: fit.map(&train),
    })
}

/// Share of the variance of x in its first principal component; `None` if x does not vary.
fn anisotropy(layer: usize, rows: &TrainingMoments<'_>) -> Result<Option<f64>> {
    let d = rows.d_in();
    let covariance = rows.covariance(&(0..d).collect::<Vec<_>>(), &vec![1.0; d]);
    let largest = Eigenvalues::new(layer, covariance)?.largest(&[1])[0];
    let total: f64 = rows.variance_x.iter().sum();
    Ok(finite(largest / total).filter(|_| total > 0.0))
}

/// Mean squared error of the affine fit on its own rows.
fn in_sample_error(layer: usize, rows: &TrainingMoments<'_>) -> Result<f64> {
    let fit = LinearFit::new(layer, rows)?;
    let explained: f64 = super::matrices::column_dots(&fit.whitened, &fit.whitened).iter().sum();
    Ok((rows.variance_y.iter().sum::<f64>() - explained).max(0.0))
}

/// Σ_j Var(y_j − x_j).
fn update_variance(rows: &TrainingMoments<'_>) -> f64 {
    let covariance: f64 = (0..rows.d_in()).map(|j| rows.covariance_xy(j, j)).sum();
    rows.variance_x.iter().sum::<f64>() + rows.variance_y.iter().sum::<f64>() - 2.0 * covariance
}

fn share(error: f64, variance: f64) -> Option<f64> {
    finite(1.0 - error / variance).filter(|_| variance > 0.0)
}
