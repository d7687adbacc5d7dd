//! Rows that a fit has not seen, expressed in its eigenbasis.

use faer::Mat;

use super::{LinearFit, matrix, project_vector};
use crate::moments::Moments;

/// Second moments of z = basisᵀ·(x − x̄) and of y − ȳ over some rows, x̄ and ȳ being the **training** means.
pub(super) struct Projected {
    /// Rows.
    pub(super) n: f64,
    /// Mean of z.
    pub(super) mean_z: Vec<f64>,
    /// Σz·zᵀ, rank × rank.
    pub(super) zz: Mat<f64>,
    /// Σz·(y − ȳ)ᵀ, rank × d_out.
    pub(super) zy: Mat<f64>,
    /// Σ(y_j − ȳ_j)² per feature.
    pub(super) yy: Vec<f64>,
}

impl Projected {
    /// `rows` in the basis of `fit`; both under the same shifts.
    pub(super) fn new(fit: &LinearFit, rows: &Moments) -> Self {
        let n = rows.n as f64;
        let (own_x, own_y) = (rows.mean_x(), rows.mean_y());
        let offset = |own: &[f64], mean: &[f64]| own.iter().zip(mean).map(|(own, mean)| own - mean).collect::<Vec<_>>();
        let (offset_x, offset_y) = (offset(&own_x, &fit.mean_x), offset(&own_y, &fit.mean_y));
        let (own_z, mean_z) = (project_vector(&fit.basis, &own_x), project_vector(&fit.basis, &offset_x));

        // Σ(x − x̄)(·)ᵀ = Σx(·)ᵀ − n·own·ownᵀ + n·offset·offsetᵀ, applied after the projection.
        let xx = matrix(&rows.xx, rows.d_in(), rows.d_in());
        let mut zz = fit.basis.transpose() * (xx * &fit.basis);
        recentre(&mut zz, n, (&own_z, &own_z), (&mean_z, &mean_z));
        let mut zy = fit.basis.transpose() * matrix(&rows.xy, rows.d_in(), rows.d_out());
        recentre(&mut zy, n, (&own_z, &own_y), (&mean_z, &offset_y));
        let yy = rows.yy_diagonal.iter().zip(own_y.iter().zip(&offset_y));
        let yy = yy.map(|(sum, (own, offset))| sum - n * own * own + n * offset * offset).collect();
        Self { n, mean_z, zz, zy, yy }
    }

    /// Σ(y_j − ŷ_j)² per feature, given zz·coefficients.
    pub(super) fn squared_errors(&self, fit: &LinearFit, zz_coefficients: &Mat<f64>) -> Vec<f64> {
        let explained = super::column_dots(&fit.coefficients, &self.zy);
        let predicted = super::column_dots(&fit.coefficients, zz_coefficients);
        let errors = self.yy.iter().zip(explained.iter().zip(&predicted));
        errors.map(|(yy, (explained, predicted))| (yy - 2.0 * explained + predicted).max(0.0)).collect()
    }
}

fn recentre(sums: &mut Mat<f64>, n: f64, own: (&[f64], &[f64]), offset: (&[f64], &[f64])) {
    for j in 0..sums.ncols() {
        for i in 0..sums.nrows() {
            sums[(i, j)] += n * (offset.0[i] * offset.1[j] - own.0[i] * own.1[j]);
        }
    }
}
