//! Ridge regression whose strength generalised cross-validation chooses: what many features explain, without the excess
//! error of a least-squares fit on few rows.

use faer::Mat;

use super::fit::{Eigenvectors, VaryingColumns};
use super::matrices::transposed;
use super::project::HeldOutMoments;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::stats::moments::Moments;

/// Strengths 10^(j/4), relative to the mean eigenvalue of C, which is 1.
const QUARTER_DECADES: std::ops::RangeInclusive<i32> = -40..=8;

/// Σ‖y − ŷ‖² over the held-out rows of the ridge regression on the training rows (docs/measures.md, section 5). `block`
/// is named in errors.
pub fn ridge_error(block: usize, train: &Moments, heldout: &Moments) -> Result<f64> {
    let train = TrainingMoments::from(train);
    let eigen = Eigenvectors::new(block, &VaryingColumns::new(&train), &train)?;
    let all: Vec<usize> = (0..train.d_in()).collect();
    // Cov(z, y) with z = basisᵀ·(x − x̄), kept × d_out.
    let mut cross = eigen.basis.transpose() * transposed(&train.cross(&all, &vec![1.0; all.len()]));
    let explained: Vec<f64> =
        (0..cross.nrows()).map(|i| cross.row(i).iter().map(|value| value * value).sum()).collect();
    let strength = best_strength(&train, &eigen.kept, &explained);
    for column in cross.col_iter_mut() {
        column.iter_mut().zip(&eigen.kept).for_each(|(value, lambda)| *value /= lambda + strength);
    }
    let weight: Mat<f64> = &eigen.basis * cross;
    Ok(HeldOutMoments::new(&train.mean_x, &train.mean_y, heldout).predict(&weight).errors.iter().sum())
}

/// The strength α with the least V(α)/(1 − t(α)/n)², V being the mean squared error on the n training rows and t the
/// effective number of parameters per output (Golub, Heath and Wahba 1979). `explained` are the squared norms of
/// Cov(z_i, y), with Var(z_i) = λ_i in `eigenvalues`.
fn best_strength(train: &TrainingMoments<'_>, eigenvalues: &[f64], explained: &[f64]) -> f64 {
    let total: f64 = train.variance_y.iter().sum();
    let criterion = |alpha: f64| {
        let pairs = || eigenvalues.iter().zip(explained);
        let error = total - pairs().map(|(l, c)| c * (l + 2.0 * alpha) / (l + alpha).powi(2)).sum::<f64>();
        let parameters = 1.0 + eigenvalues.iter().map(|l| l / (l + alpha)).sum::<f64>();
        if parameters < train.n { error / (1.0 - parameters / train.n).powi(2) } else { f64::INFINITY }
    };
    let strengths = QUARTER_DECADES.map(|j| 10f64.powf(f64::from(j) / 4.0));
    strengths.min_by(|a, b| criterion(*a).total_cmp(&criterion(*b))).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    const D: usize = 20;

    /// Rows of which only the first input matters, and their moments.
    fn rows(count: usize, noise: f64, seed: u64) -> (Vec<f32>, Vec<f32>) {
        let mut random = Random::new(seed);
        let x: Vec<f32> = (0..count * D).map(|_| random.normal() as f32).collect();
        let y = x.chunks(D).map(|row| (f64::from(row[0]) + noise * random.normal()) as f32).collect();
        (x, y)
    }

    fn moments(parts: [&(Vec<f32>, Vec<f32>); 2]) -> [Moments; 2] {
        let (x, y) = (Scale::from_rows(&parts[0].0, D), Scale::from_rows(&parts[0].1, 1));
        parts.map(|(rows_x, rows_y)| {
            let mut moments = Moments::training(&x, &y);
            moments.add_rows(rows_x, rows_y);
            moments
        })
    }

    #[test]
    fn few_noisy_rows_are_fitted_better_than_by_least_squares_and_many_as_well() {
        let heldout = rows(2000, 1.0, 7);
        let errors = |count: usize| {
            let [train, heldout] = moments([&rows(count, 1.0, 3), &heldout]);
            let plain = super::super::solve_readout(0, &train, &heldout).expect("a fit").heldout_error;
            (ridge_error(0, &train, &heldout).expect("a fit"), plain)
        };
        let (ridge, plain) = errors(40);
        assert!(ridge < 0.9 * plain, "{ridge} {plain}");
        let (ridge, plain) = errors(4000);
        assert!((ridge / plain - 1.0).abs() < 0.01, "{ridge} {plain}");
    }

    #[test]
    fn the_criterion_is_that_of_the_rows() {
        let part = rows(60, 0.5, 11);
        let [moments, _] = moments([&part, &part]);
        let train = TrainingMoments::from(&moments);
        let eigen = Eigenvectors::new(0, &VaryingColumns::new(&train), &train).expect("eigenvectors");
        let all: Vec<usize> = (0..D).collect();
        let cross = eigen.basis.transpose() * transposed(&train.cross(&all, &[1.0; D]));
        let explained: Vec<f64> = (0..D).map(|i| cross[(i, 0)].powi(2)).collect();
        let found = best_strength(&train, &eigen.kept, &explained);
        // The same from residuals and the hat matrix's trace.
        let criterion = |alpha: f64| {
            let scores = cross.col(0).iter().zip(&eigen.kept).map(|(c, l)| c / (l + alpha)).collect::<Vec<_>>();
            let predicted = |row: &[f32]| {
                let z = |k: usize| {
                    let centred = |j: usize| f64::from(row[j]) - moments.shift_x[j] - train.mean_x[j];
                    (0..D).map(|j| eigen.basis[(j, k)] * centred(j)).sum::<f64>()
                };
                (0..D).map(|k| scores[k] * z(k)).sum::<f64>() + train.mean_y[0] + moments.shift_y[0]
            };
            let squares = part.0.chunks(D).zip(&part.1).map(|(row, y)| (f64::from(*y) - predicted(row)).powi(2));
            let trace = 1.0 + eigen.kept.iter().map(|l| l / (l + alpha)).sum::<f64>();
            squares.sum::<f64>() / 60.0 / (1.0 - trace / 60.0).powi(2)
        };
        let expected = QUARTER_DECADES
            .map(|j| 10f64.powf(f64::from(j) / 4.0))
            .min_by(|a, b| criterion(*a).total_cmp(&criterion(*b)))
            .expect("strengths");
        assert!(found > 1e-9 && (found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}
