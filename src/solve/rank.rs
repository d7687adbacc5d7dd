//! Reduced-rank maps: the held-out R² of W_k = W*·V_k·V_kᵀ for every k (docs/measures.md, section 3).

use std::cmp::Ordering;

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat};

use super::eigen::self_adjoint;
use super::fit::{AffineMap, LinearFit};
use super::matrices::{column_dots, matrix, row_major};
use super::project::HeldOutMoments;
use crate::error::Result;

/// V: eigenvectors of the training covariance of ŷ, largest first, d_out × d_out.
#[derive(Clone, Debug, PartialEq)]
pub struct Directions(pub(super) Mat<f64>);

/// W_k = W*·V_k·V_kᵀ as its two thin factors: y ≈ ȳ + V_k·(W*·V_k ⊙ σ)ᵀ·((x − x̄)/σ).
#[derive(Clone, Debug, PartialEq)]
pub struct LowRankMap {
    /// W*·V_k, row-major d_in × k.
    pub inner: Vec<f64>,
    /// V_k, row-major d_out × k.
    pub outer: Vec<f64>,
    /// x̄, d_in.
    pub mean_x: Vec<f64>,
    /// σ, d_in, as in [`AffineMap::deviation_x`].
    pub deviation_x: Vec<f64>,
    /// ȳ, d_out.
    pub mean_y: Vec<f64>,
    /// k.
    pub rank: usize,
}

impl Directions {
    /// The directions, and the eigenvalues of each in ascending order.
    pub(super) fn new(block: usize, fit: &LinearFit) -> Result<(Self, Vec<f64>)> {
        let eigen = self_adjoint(block, fit.prediction_covariance().as_ref())?;
        let ascending = eigen.U();
        let d = ascending.ncols();
        let eigenvalues = eigen.S().column_vector().iter().copied().collect();
        Ok((Self(Mat::from_fn(d, d, |i, k| ascending[(i, d - 1 - k)])), eigenvalues))
    }

    /// V_iᵀ, one direction per row, row-major d_out × d_out.
    pub fn rows(&self) -> Vec<f32> {
        self.0.col_iter().flat_map(|direction| direction.iter().map(|&value| value as f32)).collect()
    }

    /// W_k = W*·V_k·V_kᵀ with b_k = ȳ − W_kᵀ·x̄; `map` must be the map of these directions.
    pub fn map(&self, map: &AffineMap, k: usize) -> AffineMap {
        let leading = self.0.subcols(0, k);
        let weight = matrix(&map.weight, map.mean_x.len(), map.mean_y.len());
        let weight = (weight * leading) * leading.transpose();
        AffineMap { weight: row_major(&weight), rank: k, ..map.clone() }
    }

    /// The map of [`Directions::map`] as two factors.
    pub fn factors(&self, map: &AffineMap, k: usize) -> LowRankMap {
        let leading = self.0.subcols(0, k);
        let weight = matrix(&map.weight, map.mean_x.len(), map.mean_y.len());
        LowRankMap {
            inner: row_major(&(weight * leading)),
            outer: row_major(&leading.to_owned()),
            mean_x: map.mean_x.clone(),
            deviation_x: map.deviation_x.clone(),
            mean_y: map.mean_y.clone(),
            rank: k,
        }
    }
}

/// Σ‖y − ŷ_k‖² for k = 1 … d_out, given V and Σ(ŷ − ȳ)(ŷ − ȳ)ᵀ.
pub(super) fn squared_errors(
    rows: &HeldOutMoments,
    fit: &LinearFit,
    directions: &Directions,
    predicted: &Mat<f64>,
) -> Vec<f64> {
    // ‖y − V_kV_kᵀŷ‖² = ‖y‖² − Σ_{i≤k} vᵢᵀ(2ŷyᵀ − ŷŷᵀ)vᵢ, all centred at the training means.
    let explained = fit.weight.transpose() * &rows.xy;
    let gains = quadratic_forms(&directions.0, |i, j| explained[(i, j)] + explained[(j, i)] - predicted[(i, j)]);
    let total: f64 = rows.yy.iter().sum();
    gains
        .iter()
        .scan(total, |left, gain| {
            *left -= gain;
            Some(*left)
        })
        .collect()
}

/// vᵀ·G·v for every column v of `vectors` and a symmetric G, at half the cost of a full product.
fn quadratic_forms(vectors: &Mat<f64>, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    use BlockStructure::{Rectangular, TriangularLower};
    let d = vectors.nrows();
    // Folds the upper triangle into the lower one.
    let folded = Mat::from_fn(d, d, |i, j| match i.cmp(&j) {
        Ordering::Less => 0.0,
        Ordering::Equal => entry(i, j),
        Ordering::Greater => 2.0 * entry(i, j),
    });
    let mut product = Mat::zeros(d, vectors.ncols());
    matmul(
        &mut product,
        Rectangular,
        Accum::Replace,
        &folded,
        TriangularLower,
        vectors,
        Rectangular,
        1.0,
        super::matrices::PAR,
    );
    column_dots(vectors, &product)
}
