//! The closed-form affine map: W* = D·Q_r·Λ_r⁻¹·Q_rᵀ·D·Cov(x, y) with a relative eigenvalue cut.

use faer::{Mat, Side};

use super::{matrix, participation};
use crate::error::{Error, Result};
use crate::moments::Moments;
use crate::report::finite;

/// Eigenvalues of the correlation matrix at or below τ·λ_max carry only rounding noise and are cut.
pub const TAU: f64 = 1e-10;
/// A column whose standard deviation is below this share of its largest magnitude is constant to f32 precision.
pub(super) const CONSTANT: f64 = 1.0 / (1 << 22) as f64;

/// y ≈ Wᵀ·x + b in raw units, kept in the form that is safe to apply in f32: y ≈ ȳ + (W ⊙ σ)ᵀ·((x − x̄)/σ).
///
/// On ill-conditioned inputs W is large and x far from zero, so that Wᵀ·x + b would cancel most of f32's digits.
#[derive(Clone, Debug, PartialEq)]
pub struct AffineMap {
    /// W, row-major d_in × d_out.
    pub weight: Vec<f64>,
    /// x̄, d_in.
    pub mean_x: Vec<f64>,
    /// σ, d_in; 1 for a column that is constant to f32 precision.
    pub deviation_x: Vec<f64>,
    /// ȳ, d_out.
    pub mean_y: Vec<f64>,
    /// Eigenvalues kept, or the k of a rank-k map.
    pub rank: usize,
}

impl AffineMap {
    /// b = ȳ − Wᵀ·x̄.
    pub fn bias(&self) -> Vec<f64> {
        let mut bias = self.mean_y.clone();
        for (row, mean) in self.weight.chunks_exact(self.mean_y.len()).zip(&self.mean_x) {
            bias.iter_mut().zip(row).for_each(|(bias, weight)| *bias -= weight * mean);
        }
        bias
    }
}

/// The least-squares solution on some training rows, in their eigenbasis.
#[derive(Clone, Debug)]
pub struct LinearFit {
    /// Training mean of the shifted x, d_in.
    pub(super) mean_x: Vec<f64>,
    /// Training mean of the shifted y, d_out.
    pub(super) mean_y: Vec<f64>,
    /// D·Q_r, d_in × rank: z = basisᵀ·(x − x̄). Rows of constant columns are zero.
    pub(super) basis: Mat<f64>,
    /// Λ_r, the training variances of z, ascending.
    pub(super) eigenvalues: Vec<f64>,
    /// Training Cov(z, y), rank × d_out.
    pub(super) cross: Mat<f64>,
    /// Λ_r⁻¹·Cov(z, y), rank × d_out: ŷ = ȳ + coefficientsᵀ·z.
    pub(super) coefficients: Mat<f64>,
}

impl LinearFit {
    /// Solves on `train`; `block` names it in errors.
    pub fn new(block: usize, train: &Moments) -> Result<Self> {
        let scaling = inverse_deviations(train);
        let active: Vec<usize> = (0..scaling.len()).filter(|&j| scaling[j] > 0.0).collect();
        let covariance = covariance_x(train);
        let correlation = Mat::from_fn(active.len(), active.len(), |i, j| {
            covariance[(active[i], active[j])] * scaling[active[i]] * scaling[active[j]]
        });
        let (eigenvalues, vectors) = kept_eigenvectors(block, &correlation)?;
        let mut basis = Mat::zeros(scaling.len(), eigenvalues.len());
        for (i, &j) in active.iter().enumerate() {
            (0..eigenvalues.len()).for_each(|k| basis[(j, k)] = scaling[j] * vectors[(i, k)]);
        }
        let cross = basis.transpose() * covariance_xy(train);
        let coefficients = Mat::from_fn(cross.nrows(), cross.ncols(), |k, j| cross[(k, j)] / eigenvalues[k]);
        Ok(Self { mean_x: train.mean_x(), mean_y: train.mean_y(), basis, eigenvalues, cross, coefficients })
    }

    /// Eigenvalues kept.
    pub fn rank(&self) -> usize {
        self.eigenvalues.len()
    }

    /// λ_max/λ_min⁺ of the correlation matrix.
    pub fn scaled_condition(&self) -> Option<f64> {
        finite(self.eigenvalues.last()? / self.eigenvalues.first()?)
    }

    /// The map in raw units; `train` is what this was solved on.
    pub fn map(&self, train: &Moments) -> AffineMap {
        let weight = &self.basis * &self.coefficients;
        let raw_mean = |mean: &[f64], shift: &[f64]| mean.iter().zip(shift).map(|(m, s)| m + s).collect::<Vec<f64>>();
        let deviations = inverse_deviations(train).into_iter();
        AffineMap {
            weight: super::row_major(&weight),
            mean_x: raw_mean(&self.mean_x, &train.shift_x),
            deviation_x: deviations.map(|inverse| if inverse > 0.0 { inverse.recip() } else { 1.0 }).collect(),
            mean_y: raw_mean(&self.mean_y, &train.shift_y),
            rank: self.rank(),
        }
    }
}

/// λ_max/λ_min⁺ of the training Cov(x) without constant columns; λ_min⁺ is the `rank`-th largest eigenvalue.
pub(super) fn condition(block: usize, train: &Moments, rank: usize) -> Result<Option<f64>> {
    let scaling = inverse_deviations(train);
    let active: Vec<usize> = (0..scaling.len()).filter(|&j| scaling[j] > 0.0).collect();
    let covariance = covariance_x(train);
    let covariance = Mat::from_fn(active.len(), active.len(), |i, j| covariance[(active[i], active[j])]);
    if rank == 0 {
        return Ok(None);
    }
    let eigenvalues = covariance.self_adjoint_eigenvalues(Side::Lower).map_err(|error| unsolved(block, error))?;
    let largest = eigenvalues[eigenvalues.len() - 1];
    Ok(finite(largest / eigenvalues[eigenvalues.len() - rank]).filter(|condition| *condition > 0.0))
}

/// (Σλ)²/Σλ² of the training Cov(x).
pub(super) fn input_participation(train: &Moments) -> Option<f64> {
    participation(&covariance_x(train))
}

/// 1/σ_j, or 0 for a column that is constant to f32 precision.
pub(super) fn inverse_deviations(train: &Moments) -> Vec<f64> {
    let deviations = train.variance_x().into_iter().map(f64::sqrt);
    deviations
        .zip(&train.max_abs_x)
        .map(|(sigma, max)| if sigma <= CONSTANT * max { 0.0 } else { sigma.recip() })
        .collect()
}

fn covariance_x(train: &Moments) -> Mat<f64> {
    let (n, mean, xx) = (train.n as f64, train.mean_x(), matrix(&train.xx, train.d_in(), train.d_in()));
    Mat::from_fn(train.d_in(), train.d_in(), |i, j| xx[(i, j)] / n - mean[i] * mean[j])
}

fn covariance_xy(train: &Moments) -> Mat<f64> {
    let (n, mean_x, mean_y) = (train.n as f64, train.mean_x(), train.mean_y());
    let xy = matrix(&train.xy, train.d_in(), train.d_out());
    Mat::from_fn(train.d_in(), train.d_out(), |i, j| xy[(i, j)] / n - mean_x[i] * mean_y[j])
}

/// Eigenpairs above τ·λ_max, ascending.
fn kept_eigenvectors(block: usize, correlation: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    if correlation.nrows() == 0 {
        return Ok((Vec::new(), Mat::zeros(0, 0)));
    }
    let eigen = correlation.self_adjoint_eigen(Side::Lower).map_err(|error| unsolved(block, error))?;
    let eigenvalues: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let cut = TAU * eigenvalues[eigenvalues.len() - 1];
    let first = eigenvalues.partition_point(|&lambda| !(lambda > cut));
    Ok((eigenvalues[first..].to_vec(), eigen.U().subcols(first, eigenvalues.len() - first).to_owned()))
}

pub(super) fn unsolved(block: usize, error: impl std::fmt::Debug) -> Error {
    Error::Solve { block, why: format!("eigen-decomposition: {error:?}") }
}
