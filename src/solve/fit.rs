//! The closed-form affine map: W* = D·Q_r·Λ_r⁻¹·Q_rᵀ·D·Cov(x, y) with a relative eigenvalue cut.
//!
//! If the cut removes few, well-separated directions, as after a LayerNorm, only their eigenvectors are computed and
//! the rest is a Cholesky factor; otherwise all eigenvectors are computed.

use faer::{Mat, MatRef};

use super::deflated::{Factor, deflate, is_cut, leave_out, smallest_directions};
use super::eigen::self_adjoint;
use super::eigenvalues::Eigenvalues;
use super::matrices::{symmetric_product, transposed};
use super::training::TrainingMoments;
use crate::error::Result;
use crate::event::MapDump;
use crate::platform::parallel;

/// Eigenvalues of the correlation matrix at or below τ·λ_max are rounding noise and are cut.
pub const TAU: f64 = 1e-10;

/// y ≈ Wᵀ·x + b in raw units, stored so that it can be applied in f32 as y ≈ ȳ + (W ⊙ σ)ᵀ·((x − x̄)/σ).
///
/// On ill-conditioned inputs W is large and x far from zero: in Wᵀ·x + b most of f32's digits would cancel.
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

    /// The map of `block` as plain data; `healed` as in [`MapDump::healed`].
    pub fn dump(self, block: usize, healed: Option<&str>) -> MapDump {
        let (healed, bias) = (healed.map(str::to_owned), self.bias());
        let Self { weight, mean_x, deviation_x, mean_y, rank: _ } = self;
        MapDump { block, healed, weight, bias, mean_x, deviation_x, mean_y }
    }

    /// The cosine of ŷ and y in f64 for rows of x and y, row-major; 0 where one of them is zero.
    pub fn cosines(&self, x: &[f32], y: &[f32]) -> Vec<f64> {
        let (d_in, d_out) = (self.mean_x.len(), self.mean_y.len());
        let rows: Vec<(&[f32], &[f32])> = x.chunks_exact(d_in).zip(y.chunks_exact(d_out)).collect();
        parallel::map(&rows, |(x, y)| {
            let mut predicted = self.mean_y.clone();
            for ((x, mean), weights) in x.iter().zip(&self.mean_x).zip(self.weight.chunks_exact(d_out)) {
                let centred = f64::from(*x) - mean;
                predicted.iter_mut().zip(weights).for_each(|(predicted, weight)| *predicted += centred * weight);
            }
            let (mut dot, mut squares) = (0.0, [0.0; 2]);
            for (predicted, y) in predicted.iter().zip(y.iter().copied().map(f64::from)) {
                dot += predicted * y;
                squares[0] += predicted * predicted;
                squares[1] += y * y;
            }
            let lengths = squares[0].sqrt() * squares[1].sqrt();
            if lengths == 0.0 { 0.0 } else { dot / lengths }
        })
    }
}

impl From<&MapDump> for AffineMap {
    /// The rank is unknown and not used; it is set to full.
    fn from(map: &MapDump) -> Self {
        let MapDump { weight, mean_x, deviation_x, mean_y, .. } = map.clone();
        Self { rank: mean_x.len(), weight, mean_x, deviation_x, mean_y }
    }
}

/// The input directions that a fit keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct RetainedSpace {
    /// Eigenvalues kept.
    pub(super) rank: usize,
    /// D·Q of the cut eigenvalues, d_in × (active − rank): directions in which x − x̄ is rounding noise.
    pub(super) cut: Mat<f64>,
}

/// The least-squares solution on some training rows.
#[derive(Clone, Debug)]
pub struct LinearFit {
    /// Training mean of the shifted x, d_in.
    pub(super) mean_x: Vec<f64>,
    /// Training mean of the shifted y, d_out.
    pub(super) mean_y: Vec<f64>,
    /// The input directions that are kept.
    pub(super) kept: RetainedSpace,
    /// All eigenvalues of C, cut ones included.
    pub(super) eigenvalues: Eigenvalues,
    /// H with HᵀH = training Cov(ŷ), any × d_out: its squares sum to the variance that the fit explains.
    pub(super) whitened: Mat<f64>,
    /// W*, d_in × d_out.
    pub(super) weight: Mat<f64>,
}

impl LinearFit {
    /// Solves on `train`; `block` is named in errors.
    pub(super) fn new(block: usize, train: &TrainingMoments<'_>) -> Result<Self> {
        super::matrices::one_thread_per_matrix();
        let columns = VaryingColumns::new(train);
        let correlation = columns.correlation(train);
        let eigenvalues = Eigenvalues::new(block, correlation.clone())?;
        let solved = match Solution::by_factor(&columns, train, correlation, &eigenvalues) {
            Some(solved) => solved,
            None => Solution::by_eigenvectors(train, &Eigenvectors::new(block, &columns, train)?),
        };
        let Solution { kept, whitened, weight } = solved;
        Ok(Self { mean_x: train.mean_x.clone(), mean_y: train.mean_y.clone(), kept, eigenvalues, whitened, weight })
    }

    /// Eigenvalues kept.
    pub fn rank(&self) -> usize {
        self.kept.rank
    }

    /// Training Cov(ŷ), d_out × d_out.
    pub(super) fn prediction_covariance(&self) -> Mat<f64> {
        symmetric_product(&self.whitened, &self.whitened)
    }

    /// The map in raw units; `train` must be the rows that the fit was solved on.
    pub(super) fn map(&self, train: &TrainingMoments<'_>) -> AffineMap {
        let deviations = train.inverse_deviations().into_iter();
        AffineMap {
            weight: super::matrices::row_major(&self.weight),
            mean_x: train.raw_mean_x(),
            deviation_x: deviations.map(|inverse| if inverse > 0.0 { inverse.recip() } else { 1.0 }).collect(),
            mean_y: train.raw_mean_y(),
            rank: self.rank(),
        }
    }
}

/// The result of either method; fields as in [`LinearFit`].
struct Solution {
    kept: RetainedSpace,
    whitened: Mat<f64>,
    weight: Mat<f64>,
}

impl Solution {
    /// `None` if many directions are cut, or if they are hard to separate from those that are kept.
    fn by_factor(
        columns: &VaryingColumns,
        train: &TrainingMoments<'_>,
        mut correlation: Mat<f64>,
        eigenvalues: &Eigenvalues,
    ) -> Option<Self> {
        let d = eigenvalues.count();
        let largest = *eigenvalues.largest(&[1][..d.min(1)]).first()?;
        let rank = eigenvalues.above(TAU * largest);
        if !few(d - rank, d) {
            return None;
        }
        let null = smallest_directions(&correlation, d - rank, largest)?;
        if !is_cut(&correlation, &null, TAU * largest) {
            return None;
        }
        deflate(&mut correlation, &null, largest);
        let factor = Factor::new(correlation)?;
        let mut whitened = transposed(&train.cross(&columns.active, &columns.inverse));
        leave_out(&null, whitened.as_mut());
        factor.whiten(whitened.as_mut());
        let mut weight = whitened.clone();
        factor.weigh(weight.as_mut());
        Some(Self {
            kept: RetainedSpace { rank, cut: columns.scaled_to_raw(null.as_ref()) },
            whitened,
            weight: columns.scaled_to_raw(weight.as_ref()),
        })
    }

    fn by_eigenvectors(train: &TrainingMoments<'_>, eigen: &Eigenvectors) -> Self {
        let all: Vec<usize> = (0..train.d_in()).collect();
        let cross = transposed(&train.cross(&all, &vec![1.0; all.len()]));
        let mut whitened = eigen.basis.transpose() * cross;
        scale_rows(&mut whitened, |k| eigen.kept[k].sqrt().recip());
        let mut coefficients = whitened.clone();
        scale_rows(&mut coefficients, |k| eigen.kept[k].sqrt().recip());
        let kept = RetainedSpace { rank: eigen.kept.len(), cut: eigen.cut.clone() };
        Self { kept, whitened, weight: &eigen.basis * coefficients }
    }
}

/// Whether few enough of `d` directions are cut for the Cholesky method; for more, a decomposition is cheaper.
pub(super) fn few(cut: usize, d: usize) -> bool {
    8 * cut <= d
}

/// C = Q·Λ·Qᵀ in raw units.
pub(super) struct Eigenvectors {
    /// D·Q_r, d_in × rank: z = basisᵀ·(x − x̄). Rows of constant columns are zero.
    pub(super) basis: Mat<f64>,
    /// Λ_r, the training variances of z, ascending.
    pub(super) kept: Vec<f64>,
    /// As in [`RetainedSpace`].
    cut: Mat<f64>,
}

impl Eigenvectors {
    /// Decomposes the correlations of the training rows; `block` is named in errors.
    pub(super) fn new(block: usize, columns: &VaryingColumns, train: &TrainingMoments<'_>) -> Result<Self> {
        if columns.active.is_empty() {
            let none = Mat::zeros(train.d_in(), 0);
            return Ok(Self { basis: none.clone(), kept: Vec::new(), cut: none });
        }
        let eigen = self_adjoint(block, columns.correlation(train).as_ref())?;
        let spectrum: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let largest = spectrum.last().copied().unwrap_or(0.0);
        let cut = spectrum.partition_point(|&lambda| !(lambda > TAU * largest));
        let (left_out, kept) = eigen.U().split_at_col(cut);
        Ok(Self {
            basis: columns.scaled_to_raw(kept),
            kept: spectrum[cut..].to_vec(),
            cut: columns.scaled_to_raw(left_out),
        })
    }
}

/// The non-constant columns of x and their scale.
pub(super) struct VaryingColumns {
    /// Indices among all columns, ascending.
    pub(super) active: Vec<usize>,
    /// 1/σ of every active column.
    pub(super) inverse: Vec<f64>,
    d_in: usize,
}

impl VaryingColumns {
    pub(super) fn new(train: &TrainingMoments<'_>) -> Self {
        let scaling = train.inverse_deviations();
        let (active, inverse) = scaling.iter().enumerate().filter(|(_, scale)| **scale > 0.0).unzip();
        Self { active, inverse, d_in: scaling.len() }
    }

    /// C, the training correlations of the active columns; lower triangle.
    pub(super) fn correlation(&self, train: &TrainingMoments<'_>) -> Mat<f64> {
        train.covariance(&self.active, &self.inverse)
    }

    /// The training covariances of the active columns; lower triangle.
    pub(super) fn covariance(&self, train: &TrainingMoments<'_>) -> Mat<f64> {
        train.covariance(&self.active, &vec![1.0; self.active.len()])
    }

    /// Converts directions over active columns in units of σ to all columns in raw units.
    fn scaled_to_raw(&self, directions: MatRef<'_, f64>) -> Mat<f64> {
        let mut raw = Mat::zeros(self.d_in, directions.ncols());
        for k in 0..directions.ncols() {
            for (i, &j) in self.active.iter().enumerate() {
                raw[(j, k)] = self.inverse[i] * directions[(i, k)];
            }
        }
        raw
    }
}

fn scale_rows(matrix: &mut Mat<f64>, factor: impl Fn(usize) -> f64) {
    let factors: Vec<f64> = (0..matrix.nrows()).map(factor).collect();
    for j in 0..matrix.ncols() {
        matrix.col_mut(j).iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::{Moments, Scale};

    const D_OUT: usize = 3;

    /// Rows whose x comes from `row` and whose y is a noisy map of it.
    fn moments(d: usize, row: impl Fn(&mut Random) -> Vec<f64>) -> Moments {
        let mut random = Random::new(17);
        let weight: Vec<f64> = (0..d * D_OUT).map(|_| random.normal()).collect();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..600 {
            let values: Vec<f32> = row(&mut random).into_iter().map(|x| x as f32).collect();
            for weights in weight.chunks(d) {
                let dot: f64 = values.iter().zip(weights).map(|(x, w)| f64::from(*x) * w).sum();
                y.push((dot + 0.3 * random.normal()) as f32);
            }
            x.extend(values);
        }
        let mut moments = Moments::training(&Scale::from_rows(&x, d), &Scale::from_rows(&y, D_OUT));
        moments.add_rows(&x, &y);
        moments
    }

    /// Compares the Cholesky method with all eigenvectors; returns the rank, or `None` if the method does not apply.
    fn by_factor(moments: &Moments, tolerance: f64) -> Option<usize> {
        let train = TrainingMoments::from(moments);
        let columns = VaryingColumns::new(&train);
        let correlation = columns.correlation(&train);
        let eigenvalues = Eigenvalues::new(0, correlation.clone()).expect("eigenvalues");
        let eigen = Eigenvectors::new(0, &columns, &train).expect("eigenvectors");
        let expected = Solution::by_eigenvectors(&train, &eigen);
        let found = Solution::by_factor(&columns, &train, correlation, &eigenvalues)?;
        assert_eq!(found.kept.rank, expected.kept.rank);
        let same = |name: &str, found: &Mat<f64>, expected: &Mat<f64>| {
            let off = (found - expected).norm_l2() / expected.norm_l2();
            assert!(off <= tolerance, "{name} is off by {off:e}");
        };
        let predicted = |solved: &Solution| symmetric_product(&solved.whitened, &solved.whitened);
        same("W", &found.weight, &expected.weight);
        same("Cov(ŷ)", &predicted(&found), &predicted(&expected));
        // Compares projectors, because bases of a subspace differ.
        let projector = |directions: &Mat<f64>| match directions.ncols() {
            0 => Mat::identity(1, 1),
            _ => {
                let basis = directions.qr().compute_thin_Q();
                &basis * basis.transpose()
            }
        };
        same("what is cut", &projector(&found.kept.cut), &projector(&expected.kept.cut));
        Some(found.kept.rank)
    }

    #[test]
    fn a_factor_finds_what_eigenvectors_find() {
        for exponent in [0, 4, 7] {
            let near = 10f64.powi(-exponent).sqrt();
            for null in [0, 1, 2] {
                let moments = moments(24, |random| {
                    let mut x: Vec<f64> = (0..24).map(|_| random.normal()).collect();
                    x[5] = x[1] + near * x[5];
                    match null {
                        // A LayerNorm with weights that span decades.
                        1 => {
                            let mean = x.iter().sum::<f64>() / 24.0;
                            x.iter_mut().enumerate().for_each(|(j, x)| *x = (*x - mean) * 10f64.powi(j as i32 % 4 - 2));
                        }
                        // Columns that are multiples of others.
                        2 => [9, 13].into_iter().for_each(|j| x[j] = 2.0 * f64::from(x[j - 1] as f32)),
                        _ => {}
                    }
                    x
                });
                let rank = by_factor(&moments, 1e-13 * 10f64.powi(exponent).max(100.0));
                assert_eq!(rank, Some(24 - null), "condition 1e{exponent}, {null} directions cut");
            }
        }
    }

    #[test]
    fn many_directions_or_some_that_are_hard_to_tell_apart_are_left_to_eigenvectors() {
        let halved = moments(16, |random| {
            let z: Vec<f64> = (0..8).map(|_| random.normal()).collect();
            z.iter().chain(&z).copied().collect()
        });
        assert_eq!(by_factor(&halved, 1e-9), None);
        // One eigenvalue at 0.8 times the cut, the other at 1.3 times.
        let close = moments(16, |random| {
            let mut x: Vec<f64> = (0..16).map(|_| random.normal()).collect();
            x[1] = x[0] + 1.8e-5 * x[1];
            x[3] = x[2] + 2.3e-5 * x[3];
            x
        });
        assert_eq!(by_factor(&close, 1e-9), None);
        let fit = LinearFit::new(0, &TrainingMoments::from(&close)).expect("a fit all the same");
        assert_eq!(fit.rank(), 15);
    }
}
