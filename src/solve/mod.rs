//! The least squares in double precision: fit, scores and rank curve from second moments alone.
//!
//! Everything is done in the eigenbasis of the training correlation matrix (MEASURES.md section 2): rows become
//! z = Qᵀ·D·(x − x̄), whose training covariance is diagonal, so that every score is a few small products. This folder
//! is the only place that names faer, and it has never heard of a GPU.

mod fit;
mod inputs;
mod layer;
mod project;
mod rank;
mod readout;
mod score;

use faer::{Mat, MatRef};

pub use fit::{AffineMap, LinearFit, TAU};
pub use inputs::{InputColumns, InputDistribution};
pub use layer::{LayerScore, score_layer};
pub use rank::{Directions, LowRankMap};
pub use readout::{Readout, raw_curvature, solve_readout, squared_error};
pub use score::{BlockScore, score_block, score_control};

/// A row-major slice as a matrix.
fn matrix(values: &[f64], rows: usize, cols: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(values, rows, cols)
}

/// A matrix as a row-major list.
fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| matrix.row(i).iter().copied().collect::<Vec<_>>()).collect()
}

/// `vᵀ·M` for a column of numbers.
fn project_vector(basis: &Mat<f64>, vector: &[f64]) -> Vec<f64> {
    (0..basis.ncols()).map(|k| basis.col(k).iter().zip(vector).map(|(b, v)| b * v).sum()).collect()
}

/// Σ_i a_ij·b_ij for every column j.
fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    (0..a.ncols()).map(|j| a.col(j).iter().zip(b.col(j).iter()).map(|(a, b)| a * b).sum()).collect()
}

/// (Σλ)²/Σλ² of a symmetric matrix, from its trace and Frobenius norm; `None` where it is zero.
fn participation(covariance: &Mat<f64>) -> Option<f64> {
    let trace: f64 = (0..covariance.ncols()).map(|j| covariance[(j, j)]).sum();
    let squares: f64 = (0..covariance.ncols()).map(|j| covariance.col(j).iter().map(|c| c * c).sum::<f64>()).sum();
    crate::report::finite(trace * trace / squares)
}

/// Median, the mean of the middle two for an even count; `None` of nothing.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
