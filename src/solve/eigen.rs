//! The full eigen-decomposition of a symmetric matrix, for callers that need all eigenvectors.

use faer::linalg::solvers::SelfAdjointEigen;
use faer::{MatRef, Side};

use super::matrices::{matrix, one_thread_per_matrix, row_major, unsolved};
use crate::error::Result;

/// All eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Clone, Debug)]
pub struct Eigen(SelfAdjointEigen<f64>);

impl Eigen {
    /// Ascending, d.
    pub fn values(&self) -> Vec<f64> {
        self.0.S().column_vector().iter().copied().collect()
    }

    /// Orthonormal eigenvectors as columns, in the order of the values; row-major d × d.
    pub fn vectors(&self) -> Vec<f64> {
        row_major(&self.0.U().to_owned())
    }
}

/// Decomposes a symmetric matrix, row-major d × d; reads only its lower triangle. This is the most expensive step of a
/// solve and the measure of its cost.
///
/// # Errors
/// If the matrix is empty, not square or not finite.
pub fn decompose(values: &[f64]) -> Result<Eigen> {
    let d = values.len().isqrt();
    if d == 0 || d * d != values.len() {
        return Err(unsolved(0, "this is no square matrix"));
    }
    let eigen = Eigen(self_adjoint(0, matrix(values, d, d))?);
    if eigen.values().iter().all(|value| value.is_finite()) {
        Ok(eigen)
    } else {
        Err(unsolved(0, "the matrix is not finite"))
    }
}

/// Decomposes the matrix with this lower triangle, eigenvalues ascending; `block` is named in errors.
pub(super) fn self_adjoint(block: usize, matrix: MatRef<'_, f64>) -> Result<SelfAdjointEigen<f64>> {
    one_thread_per_matrix();
    matrix.self_adjoint_eigen(Side::Lower).map_err(|error| unsolved(block, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_vectors_make_up_the_matrix() {
        // Eigenvalues 1 and 3; the entry above the diagonal must not be read.
        let eigen = decompose(&[2.0, f64::NAN, 1.0, 2.0]).expect("a symmetric matrix");
        let (values, vectors) = (eigen.values(), eigen.vectors());
        assert!((values[0] - 1.0).abs() <= 1e-15 && (values[1] - 3.0).abs() <= 1e-15, "{values:?}");
        for (i, j, expected) in [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 2.0)] {
            let entry: f64 = (0..2).map(|k| vectors[2 * i + k] * values[k] * vectors[2 * j + k]).sum();
            assert!((entry - expected).abs() <= 1e-15, "{entry} where {expected} was");
        }
    }

    #[test]
    fn what_is_not_square_or_not_finite_is_refused() {
        for (values, why) in [(vec![], "square"), (vec![1.0; 3], "square"), (vec![f64::NAN; 4], "finite")] {
            let refusal = decompose(&values).expect_err("a refusal").to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
