//! Matrix helpers of the solver: conversion from and to row-major lists, products, traces.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatRef, Par};

use crate::error::Error;
use crate::platform::random::Random;

/// One thread per matrix: threads work on different blocks and folds, which scales better than parallel factorisation.
pub(super) const PAR: Par = Par::Seq;

/// Sets [`PAR`] for faer's operators too.
pub(super) fn one_thread_per_matrix() {
    faer::set_global_parallelism(PAR);
}

/// A row-major slice as a matrix.
pub(super) fn matrix(values: &[f64], rows: usize, cols: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(values, rows, cols)
}

/// A matrix as a row-major list.
pub(super) fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    let cols = matrix.ncols();
    let mut list = vec![0.0; matrix.nrows() * cols];
    for_tiles(matrix.nrows(), cols, |i, j| list[i * cols + j] = matrix[(i, j)]);
    list
}

/// Maps the entries of a row-major list to a matrix by `f(i, j, entry)`.
pub(super) fn from_row_major(
    values: &[f64],
    rows: usize,
    cols: usize,
    f: impl Fn(usize, usize, f64) -> f64,
) -> Mat<f64> {
    let mut matrix = Mat::zeros(rows, cols);
    for_tiles(rows, cols, |i, j| matrix[(i, j)] = f(i, j, values[i * cols + j]));
    matrix
}

/// Mᵀ as a new matrix.
pub(super) fn transposed(matrix: &Mat<f64>) -> Mat<f64> {
    let mut transposed = Mat::zeros(matrix.ncols(), matrix.nrows());
    for_tiles(matrix.ncols(), matrix.nrows(), |i, j| transposed[(i, j)] = matrix[(j, i)]);
    transposed
}

/// Visits every index in tiles, which stay cached when one side is read along rows and the other along columns.
fn for_tiles(rows: usize, cols: usize, mut f: impl FnMut(usize, usize)) {
    const TILE: usize = 32;
    for left in (0..cols).step_by(TILE) {
        for top in (0..rows).step_by(TILE) {
            for j in left..cols.min(left + TILE) {
                (top..rows.min(top + TILE)).for_each(|i| f(i, j));
            }
        }
    }
}

/// `vᵀ·M` for a vector v.
pub(super) fn project_vector(basis: &Mat<f64>, vector: &[f64]) -> Vec<f64> {
    (0..basis.ncols()).map(|k| basis.col(k).iter().zip(vector).map(|(b, v)| b * v).sum()).collect()
}

/// Σ_i a_ij·b_ij for every column j.
pub(super) fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    (0..a.ncols()).map(|j| a.col(j).iter().zip(b.col(j).iter()).map(|(a, b)| a * b).sum()).collect()
}

/// AᵀB, known to be symmetric, at half the cost.
pub(super) fn symmetric_product(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    use BlockStructure::{Rectangular, TriangularLower};
    let mut product = Mat::zeros(a.ncols(), b.ncols());
    matmul(&mut product, TriangularLower, Accum::Replace, a.transpose(), Rectangular, b, Rectangular, 1.0, PAR);
    let d = product.ncols();
    for_tiles(d, d, |i, j| {
        if i < j {
            product[(i, j)] = product[(j, i)];
        }
    });
    product
}

/// Participation ratio (Σλ)²/Σλ² of the symmetric d × d matrix with these entries, from its trace and Frobenius norm;
/// `None` if the matrix is zero. `entry(i, j)` is called only for i ≥ j.
pub(super) fn participation(d: usize, entry: impl Fn(usize, usize) -> f64) -> Option<f64> {
    let trace: f64 = (0..d).map(|j| entry(j, j)).sum();
    let below = |j: usize| (j + 1..d).map(|i| entry(i, j).powi(2)).sum::<f64>();
    let squares: f64 = (0..d).map(|j| entry(j, j).powi(2) + 2.0 * below(j)).sum();
    crate::report::finite(trace * trace / squares)
}

/// exp of the entropy of the shares λ/Σλ of eigenvalues; `None` if none is positive.
pub(super) fn entropy_rank(eigenvalues: &[f64]) -> Option<f64> {
    let positive = || eigenvalues.iter().copied().filter(|value| *value > 0.0);
    let total: f64 = positive().sum();
    let entropy: f64 = positive().map(|value| -(value / total) * (value / total).ln()).sum();
    crate::report::finite(entropy.exp()).filter(|_| total > 0.0)
}

/// Σλ/λ_max of eigenvalues; `None` if none is positive.
pub(super) fn stable_rank(eigenvalues: &[f64]) -> Option<f64> {
    let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
    crate::report::finite(eigenvalues.iter().filter(|value| **value > 0.0).sum::<f64>() / largest)
}

/// Normally distributed numbers, the same in every run.
pub(super) fn random_matrix(rows: usize, cols: usize) -> Mat<f64> {
    let mut random = Random::new(1);
    Mat::from_fn(rows, cols, |_, _| random.normal())
}

pub(super) fn unsolved(block: usize, error: impl std::fmt::Debug) -> Error {
    Error::Solve { block, why: format!("eigen-decomposition: {error:?}") }
}
