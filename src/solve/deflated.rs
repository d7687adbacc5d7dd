//! Least squares by a Cholesky factor, with some directions of x left out.
//!
//! Let V be an orthonormal basis of null directions of the correlation matrix C. Then A = C + s·V·Vᵀ is positive
//! definite for s > 0, and W = A⁻¹·(1 − V·Vᵀ)·B is the least-squares solution in all other directions. This takes a
//! sixth of the time of an eigen-decomposition and its products.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Mat, MatMut};

use super::eigenvalues::Eigenvalues;
use super::matrices::{PAR, random_matrix};

/// L with L·Lᵀ = A, in the lower triangle; entries above the diagonal are undefined.
pub(super) struct Factor(Mat<f64>);

impl Factor {
    /// Factorises the matrix with this lower triangle; `None` if it is not positive definite.
    pub(super) fn new(mut matrix: Mat<f64>) -> Option<Self> {
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(matrix.nrows(), PAR, Default::default()));
        let stack = MemStack::new(&mut memory);
        let done = cholesky_in_place(matrix.as_mut(), Default::default(), PAR, stack, Default::default());
        done.ok().map(|_| Self(matrix))
    }

    /// Replaces B by L⁻¹·B.
    pub(super) fn whiten(&self, right: MatMut<'_, f64>) {
        solve_lower_triangular_in_place(self.0.as_ref(), right, PAR);
    }

    /// Replaces L⁻¹·B by A⁻¹·B.
    pub(super) fn weigh(&self, whitened: MatMut<'_, f64>) {
        solve_upper_triangular_in_place(self.0.as_ref().transpose(), whitened, PAR);
    }
}

/// Replaces the lower triangle of C by that of A = C + s·V·Vᵀ.
pub(super) fn deflate(correlation: &mut Mat<f64>, null: &Mat<f64>, s: f64) {
    for v in null.col_iter() {
        for (j, factor) in v.iter().enumerate() {
            let entries = correlation.col_mut(j).iter_mut().zip(v.iter()).skip(j);
            entries.for_each(|(entry, value)| *entry += s * factor * value);
        }
    }
}

/// Replaces B by (1 − V·Vᵀ)·B.
pub(super) fn leave_out(null: &Mat<f64>, mut right: MatMut<'_, f64>) {
    if null.ncols() > 0 {
        let shares = null.transpose() * &right;
        right -= null * shares;
    }
}

/// C·V for the symmetric C with this lower triangle.
fn symmetric_times(lower: &Mat<f64>, vectors: &Mat<f64>) -> Mat<f64> {
    use BlockStructure::{Rectangular, StrictTriangularUpper, TriangularLower};
    let mut product = Mat::zeros(lower.nrows(), vectors.ncols());
    let mut add = |half: faer::MatRef<'_, f64>, structure| {
        matmul(&mut product, Rectangular, Accum::Add, half, structure, vectors, Rectangular, 1.0, PAR);
    };
    add(lower.as_ref(), TriangularLower);
    add(lower.transpose(), StrictTriangularUpper);
    product
}

/// Whether every Ritz value of C, given by its lower triangle, on `null` is at most `largest`. Then at least as many
/// eigenvalues of C are (Courant and Fischer). False for NaN.
pub(super) fn is_cut(correlation: &Mat<f64>, null: &Mat<f64>, largest: f64) -> bool {
    let ritz = || Eigenvalues::new(0, null.transpose() * symmetric_times(correlation, null));
    null.ncols() == 0 || ritz().is_ok_and(|values| values.above(largest) == 0)
}

/// Shift of the inverse iteration, as a share of the largest eigenvalue: larger than the rounding error of a zero.
const SHIFT: f64 = 1e-12;
/// Iterations after which eigenvalues are too close for this method to separate their directions.
const ROUNDS: usize = 8;
/// Rounding error of C·V − V·(VᵀCV), as a share of the norm of C.
const RESIDUAL: f64 = 16.0 * f64::EPSILON;

/// The eigenvectors of the `count` smallest eigenvalues of the positive semidefinite C with this lower triangle, to
/// full precision, by simultaneous inverse iteration. `None` if those eigenvalues are too close to the next ones.
pub(super) fn smallest_directions(correlation: &Mat<f64>, count: usize, largest: f64) -> Option<Mat<f64>> {
    let d = correlation.nrows();
    if count == 0 {
        return Some(Mat::zeros(d, 0));
    }
    let mut shifted = correlation.clone();
    add_diagonal(&mut shifted, SHIFT * largest);
    let factor = Factor::new(shifted)?;
    let enough = RESIDUAL * norm(correlation);
    let mut vectors = random_matrix(d, count).qr().compute_thin_Q();
    for _ in 0..ROUNDS {
        factor.whiten(vectors.as_mut());
        factor.weigh(vectors.as_mut());
        vectors = vectors.qr().compute_thin_Q();
        let image = symmetric_times(correlation, &vectors);
        let residual = &image - &vectors * (vectors.transpose() * &image);
        if residual.norm_l2() <= enough {
            return Some(vectors);
        }
    }
    None
}

/// The Frobenius norm of the symmetric matrix with this lower triangle.
pub(super) fn norm(lower: &Mat<f64>) -> f64 {
    let squares = |j: usize| lower.col(j).iter().skip(j + 1).map(|entry| entry * entry).sum::<f64>();
    (0..lower.ncols()).map(|j| lower[(j, j)].powi(2) + 2.0 * squares(j)).sum::<f64>().sqrt()
}

pub(super) fn add_diagonal(matrix: &mut Mat<f64>, value: f64) {
    (0..matrix.ncols()).for_each(|j| matrix[(j, j)] += value);
}
