//! The closed-form affine map: W* = D·Q_r·Λ_r⁻¹·Q_rᵀ·D·Cov(x, y) with a relative eigenvalue cut.

use faer::{Mat, MatRef, Side};

use super::{participation, symmetric_product};
use crate::error::{Error, Result};
use crate::event::MapDump;
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

impl From<&MapDump> for AffineMap {
    /// Its rank, which nothing here depends on, counts as full.
    fn from(map: &MapDump) -> Self {
        let MapDump { weight, mean_x, deviation_x, mean_y, .. } = map.clone();
        Self { rank: mean_x.len(), weight, mean_x, deviation_x, mean_y }
    }
}

/// The least-squares solution on some training rows.
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
    /// All eigenvalues of C, ascending, those that are cut among them.
    pub(super) spectrum: Vec<f64>,
    /// D·Q of the eigenvalues that are cut, d_in × (active − rank): directions in which x − x̄ is rounding noise.
    pub(super) cut: Mat<f64>,
    /// Training Λ_r^−½·Cov(z, y), rank × d_out: its squares add up to the variance that the fit explains.
    pub(super) whitened: Mat<f64>,
    /// W*, d_in × d_out.
    pub(super) weight: Mat<f64>,
}

impl LinearFit {
    /// Solves on `train`; `block` names it in errors.
    pub fn new(block: usize, train: &Moments) -> Result<Self> {
        super::one_thread_per_matrix();
        let columns = Columns::new(train);
        let (spectrum, vectors) = eigenvectors(block, &columns.correlation(train))?;
        let largest = spectrum.last().copied().unwrap_or(0.0);
        let kept = spectrum.partition_point(|&lambda| !(lambda > TAU * largest));
        let cut = columns.scaled_to_raw(vectors.subcols(0, kept));
        let basis = columns.scaled_to_raw(vectors.subcols(kept, vectors.ncols() - kept));
        let eigenvalues = spectrum[kept..].to_vec();
        let mut whitened = basis.transpose() * covariance_xy(train);
        scale_rows(&mut whitened, |k| eigenvalues[k].sqrt().recip());
        let mut coefficients = whitened.clone();
        scale_rows(&mut coefficients, |k| eigenvalues[k].sqrt().recip());
        let weight = &basis * coefficients;
        Ok(Self { mean_x: train.mean_x(), mean_y: train.mean_y(), basis, eigenvalues, spectrum, cut, whitened, weight })
    }

    /// Eigenvalues kept.
    pub fn rank(&self) -> usize {
        self.eigenvalues.len()
    }

    /// λ_max/λ_min⁺ of the correlation matrix.
    pub fn scaled_condition(&self) -> Option<f64> {
        finite(self.eigenvalues.last()? / self.eigenvalues.first()?)
    }

    /// Training Cov(ŷ), d_out × d_out.
    pub(super) fn prediction_covariance(&self) -> Mat<f64> {
        symmetric_product(&self.whitened, &self.whitened)
    }

    /// The map in raw units; `train` is what this was solved on.
    pub fn map(&self, train: &Moments) -> AffineMap {
        let raw_mean = |mean: &[f64], shift: &[f64]| mean.iter().zip(shift).map(|(m, s)| m + s).collect::<Vec<f64>>();
        let deviations = inverse_deviations(train).into_iter();
        AffineMap {
            weight: super::row_major(&self.weight),
            mean_x: raw_mean(&self.mean_x, &train.shift_x),
            deviation_x: deviations.map(|inverse| if inverse > 0.0 { inverse.recip() } else { 1.0 }).collect(),
            mean_y: raw_mean(&self.mean_y, &train.shift_y),
            rank: self.rank(),
        }
    }
}

/// Eigenvalues of the training Cov(x) without constant columns, ascending.
pub(super) fn raw_eigenvalues(block: usize, train: &Moments) -> Result<Vec<f64>> {
    let active = Columns::new(train).active;
    let covariance = covariance_x(train);
    let covariance = Mat::from_fn(active.len(), active.len(), |i, j| covariance[(active[i], active[j])]);
    if active.is_empty() {
        return Ok(Vec::new());
    }
    covariance.self_adjoint_eigenvalues(Side::Lower).map_err(|error| unsolved(block, error))
}

/// λ_max/λ_min⁺ of ascending eigenvalues; λ_min⁺ is the `rank`-th largest.
pub(super) fn condition(eigenvalues: &[f64], rank: usize) -> Option<f64> {
    let smallest = eigenvalues.len().checked_sub(rank)?;
    finite(eigenvalues.last()? / eigenvalues.get(smallest)?).filter(|condition| *condition > 0.0)
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

/// The columns of x that vary, and their scale.
pub(super) struct Columns {
    /// Indices among all columns, ascending.
    pub(super) active: Vec<usize>,
    /// 1/σ of every active column.
    pub(super) inverse: Vec<f64>,
    d_in: usize,
}

impl Columns {
    pub(super) fn new(train: &Moments) -> Self {
        let scaling = inverse_deviations(train);
        let (active, inverse) = scaling.iter().enumerate().filter(|(_, scale)| **scale > 0.0).unzip();
        Self { active, inverse, d_in: scaling.len() }
    }

    /// C, the training correlations of the active columns.
    pub(super) fn correlation(&self, train: &Moments) -> Mat<f64> {
        let (n, mean, d) = (train.n as f64, train.mean_x(), self.d_in);
        Mat::from_fn(self.active.len(), self.active.len(), |i, j| {
            let (a, b) = (self.active[i], self.active[j]);
            // Symmetric, so that a column is read as a row.
            (train.xx[b * d + a] / n - mean[a] * mean[b]) * self.inverse[i] * self.inverse[j]
        })
    }

    /// Directions over active columns in units of σ as directions over all columns in raw units.
    pub(super) fn scaled_to_raw(&self, directions: MatRef<'_, f64>) -> Mat<f64> {
        let mut raw = Mat::zeros(self.d_in, directions.ncols());
        for k in 0..directions.ncols() {
            for (i, &j) in self.active.iter().enumerate() {
                raw[(j, k)] = self.inverse[i] * directions[(i, k)];
            }
        }
        raw
    }
}

fn covariance_x(train: &Moments) -> Mat<f64> {
    let (n, mean, d) = (train.n as f64, train.mean_x(), train.d_in());
    // Symmetric, so that a column is read as a row.
    Mat::from_fn(d, d, |i, j| train.xx[j * d + i] / n - mean[i] * mean[j])
}

pub(super) fn covariance_xy(train: &Moments) -> Mat<f64> {
    let (n, mean_x, mean_y) = (train.n as f64, train.mean_x(), train.mean_y());
    let entry = |i: usize, j: usize, sum: f64| sum / n - mean_x[i] * mean_y[j];
    super::from_row_major(&train.xy, train.d_in(), train.d_out(), entry)
}

fn scale_rows(matrix: &mut Mat<f64>, factor: impl Fn(usize) -> f64) {
    let factors: Vec<f64> = (0..matrix.nrows()).map(factor).collect();
    for j in 0..matrix.ncols() {
        matrix.col_mut(j).iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
    }
}

/// All eigenpairs, ascending.
fn eigenvectors(block: usize, correlation: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    if correlation.nrows() == 0 {
        return Ok((Vec::new(), Mat::zeros(0, 0)));
    }
    let eigen = correlation.self_adjoint_eigen(Side::Lower).map_err(|error| unsolved(block, error))?;
    Ok((eigen.S().column_vector().iter().copied().collect(), eigen.U().to_owned()))
}

pub(super) fn unsolved(block: usize, error: impl std::fmt::Debug) -> Error {
    Error::Solve { block, why: format!("eigen-decomposition: {error:?}") }
}
