//! Mean and covariance of a block's inputs. The controls of docs/measures.md, section 6, use them.

use faer::Mat;

use super::fit::{Eigenvectors, VaryingColumns};
use super::matrices::row_major;
use super::training::CONSTANT;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::stats::moments::Moments;

/// Mean and deviation of every column of some training inputs, d columns.
#[derive(Clone, Debug, PartialEq)]
pub struct InputColumns {
    /// x̄, d.
    pub mean: Vec<f64>,
    /// σ, d; 0 for a column that is constant to f32 precision.
    pub deviation: Vec<f64>,
    /// Resolution of f32 in each column, d: 2⁻²²·max|x_j|.
    pub resolution: Vec<f64>,
}

impl InputColumns {
    /// Computes them over the training rows of a block's folds; the last fold is held out.
    pub fn new(folds: &[Moments]) -> Self {
        Self::of(&TrainingMoments::all_but(folds, folds.len() - 1))
    }

    fn of(train: &TrainingMoments<'_>) -> Self {
        let deviation = |inverse: f64| if inverse > 0.0 { inverse.recip() } else { 0.0 };
        Self {
            mean: train.raw_mean_x(),
            deviation: train.inverse_deviations().into_iter().map(deviation).collect(),
            resolution: train.max_abs_x.iter().map(|max| CONSTANT * max).collect(),
        }
    }
}

/// Mean and covariance of some training inputs, d columns.
#[derive(Clone, Debug, PartialEq)]
pub struct InputDistribution {
    /// Mean and deviation of every column.
    pub columns: InputColumns,
    /// F with F·Fᵀ = Cov(x), except for the directions cut in section 2; row-major d × d.
    pub factor: Vec<f64>,
}

impl InputDistribution {
    /// Computes it over the training rows of a block's folds; the last fold is held out. `block` is named in errors.
    pub fn new(block: usize, folds: &[Moments]) -> Result<Self> {
        let train = TrainingMoments::all_but(folds, folds.len() - 1);
        let eigen = Eigenvectors::new(block, &VaryingColumns::new(&train), &train)?;
        let columns = InputColumns::of(&train);
        // F = D⁻¹·Q·√Λ·Qᵀ, where the basis is D·Q. The symmetric root depends neither on the signs of eigenvectors nor
        // on the rotation within nearly equal eigenvalues, both of which change with the last bit of the moments.
        let scaled = |weight: &dyn Fn(f64, f64) -> f64| {
            Mat::from_fn(eigen.basis.nrows(), eigen.basis.ncols(), |j, k| {
                eigen.basis[(j, k)] * weight(columns.deviation[j], eigen.kept[k])
            })
        };
        let left = scaled(&|deviation, eigenvalue| deviation * deviation * eigenvalue.sqrt());
        let right = scaled(&|deviation, _| deviation);
        let factor = row_major(&(&left * right.transpose()));
        Ok(Self { columns, factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    #[test]
    fn the_factor_squares_to_the_covariance() {
        let (d, n, mut random) = (6, 400, Random::new(5));
        // The last column is constant, the one before it is a sum of two others: rank 4.
        let rows: Vec<f32> = (0..n)
            .flat_map(|_| {
                let z: Vec<f64> = (0..4).map(|_| random.normal()).collect();
                [z[0], 3.0 * z[1] + 100.0, z[2] - z[0], 0.01 * z[3], z[0] + z[2], 7.0].map(|x| x as f32)
            })
            .collect();
        let scale = Scale::from_rows(&rows, d);
        let mut folds = [Moments::training(&scale, &scale), Moments::heldout(&scale, &scale)];
        rows.chunks_exact(d).enumerate().for_each(|(i, row)| folds[usize::from(i >= 300)].add_row(row, row));
        let found = InputDistribution::new(0, &folds).expect("a solution");
        assert_eq!(found.factor.len(), d * d);
        let train: Vec<Vec<f64>> =
            rows.chunks_exact(d).take(300).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
        let mean = |j: usize| train.iter().map(|row| row[j]).sum::<f64>() / 300.0;
        for i in 0..d {
            assert!((found.columns.mean[i] - mean(i)).abs() <= 1e-12 * mean(i).abs().max(1.0));
            for j in 0..d {
                let covariance = train.iter().map(|row| (row[i] - mean(i)) * (row[j] - mean(j))).sum::<f64>() / 300.0;
                let product: f64 = (0..d).map(|k| found.factor[i * d + k] * found.factor[j * d + k]).sum();
                let scale = (found.columns.deviation[i] * found.columns.deviation[j]).max(1e-3);
                // The cut leaves out the rounding of the dependent column to f32.
                assert!((covariance - product).abs() <= 1e-6 * scale, "({i}, {j}): {product} for {covariance}");
            }
        }
        assert_eq!(found.columns.deviation[5], 0.0);
        assert!((found.columns.resolution[5] - 7.0 / f64::from(1 << 22)).abs() < 1e-12);
    }
}
