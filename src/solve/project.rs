//! Held-out rows about the training means of a fit.

use faer::Mat;

use super::LinearFit;
use super::matrices::{column_dots, project_vector, symmetric_product};
use crate::stats::moments::Moments;

/// Second moments of x − x̄ and y − ȳ over some rows, x̄ and ȳ being the **training** means.
pub(super) struct HeldOutMoments {
    /// Rows.
    pub(super) n: f64,
    /// Mean of x − x̄, d_in.
    mean_x: Vec<f64>,
    /// Σ(x − x̄)(x − x̄)ᵀ, d_in × d_in.
    pub(super) xx: Mat<f64>,
    /// Σ(x − x̄)(y − ȳ)ᵀ, d_in × d_out.
    pub(super) xy: Mat<f64>,
    /// Σ(y_j − ȳ_j)² per feature.
    pub(super) yy: Vec<f64>,
}

/// The prediction errors of a fit on held-out rows.
pub(super) struct Predicted {
    /// Σ(y_j − ŷ_j)² per feature.
    pub(super) errors: Vec<f64>,
    /// Σ(x − x̄)(ŷ − ȳ)ᵀ, d_in × d_out.
    xx_weight: Mat<f64>,
}

impl HeldOutMoments {
    /// Centres `rows` at the training means of the shifted x and y; all must have the same shifts.
    pub(super) fn new(train_x: &[f64], train_y: &[f64], rows: &Moments) -> Self {
        let (n, d_in, d_out) = (rows.n as f64, rows.d_in(), rows.d_out());
        let (own_x, own_y) = (rows.mean_x(), rows.mean_y());
        let offset =
            |own: &[f64], train: &[f64]| own.iter().zip(train).map(|(own, mean)| own - mean).collect::<Vec<_>>();
        let (off_x, off_y) = (offset(&own_x, train_x), offset(&own_y, train_y));
        // Σ(a − ā)(b − b̄)ᵀ = Σabᵀ − n·own·ownᵀ + n·offset·offsetᵀ; Σxxᵀ is symmetric, so columns are read as rows.
        let xx =
            Mat::from_fn(d_in, d_in, |i, j| rows.xx[j * d_in + i] + n * (off_x[i] * off_x[j] - own_x[i] * own_x[j]));
        let about = |i: usize, j: usize, sum: f64| sum + n * (off_x[i] * off_y[j] - own_x[i] * own_y[j]);
        let xy = super::matrices::from_row_major(&rows.xy, d_in, d_out, about);
        let yy = rows.yy_diagonal.iter().zip(own_y.iter().zip(&off_y));
        let yy = yy.map(|(sum, (own, offset))| sum - n * own * own + n * offset * offset).collect();
        Self { n, mean_x: off_x, xx, xy, yy }
    }

    /// Centres `rows` at the training means of `fit`.
    pub(super) fn of(fit: &LinearFit, rows: &Moments) -> Self {
        Self::new(&fit.mean_x, &fit.mean_y, rows)
    }

    /// The prediction errors of ŷ = ȳ + `weight`ᵀ·(x − x̄).
    pub(super) fn predict(&self, weight: &Mat<f64>) -> Predicted {
        let xx_weight = &self.xx * weight;
        let explained = column_dots(weight, &self.xy);
        let predicted = column_dots(weight, &xx_weight);
        let errors = self.yy.iter().zip(explained.iter().zip(&predicted));
        let errors = errors.map(|(yy, (explained, predicted))| (yy - 2.0 * explained + predicted).max(0.0)).collect();
        Predicted { errors, xx_weight }
    }

    /// Mean of ŷ − ȳ.
    pub(super) fn mean_prediction(&self, fit: &LinearFit) -> Vec<f64> {
        project_vector(&fit.weight, &self.mean_x)
    }
}

impl Predicted {
    /// Σ(ŷ − ȳ)(ŷ − ȳ)ᵀ, d_out × d_out.
    pub(super) fn squares(&self, fit: &LinearFit) -> Mat<f64> {
        symmetric_product(&fit.weight, &self.xx_weight)
    }
}
