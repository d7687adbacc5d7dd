//! Scores of other linear models: closed-form readouts of trained features, and trained affine maps.

use faer::Mat;

use super::eigenvalues::Eigenvalues;
use super::fit::{AffineMap, LinearFit};
use super::matrices::matrix;
use super::project::HeldOutMoments;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::stats::moments::Moments;

/// The least-squares readout of some features.
#[derive(Clone, Debug)]
pub struct Readout {
    /// The target as an affine function of the features.
    pub map: AffineMap,
    /// Σ‖target − prediction‖² over the held-out rows.
    pub heldout_error: f64,
}

/// Solves target ≈ Wᵀ·feature + b on `train` with the same eigenvalue cut as the fit, and scores it on `heldout`, which
/// must have the same shifts. `block` is named in errors.
pub fn solve_readout(block: usize, train: &Moments, heldout: &Moments) -> Result<Readout> {
    let train = TrainingMoments::from(train);
    let fit = LinearFit::new(block, &train)?;
    let errors = HeldOutMoments::of(&fit, heldout).predict(&fit.weight).errors;
    Ok(Readout { map: fit.map(&train), heldout_error: errors.iter().sum() })
}

/// Σ‖y − Wᵀ·x − b‖² over some rows, for any W (row-major d_in × d_out) and b in raw units.
pub fn squared_error(rows: &Moments, weight: &[f64], bias: &[f64]) -> f64 {
    let (n, d_in, d_out) = (rows.n as f64, rows.d_in(), rows.d_out());
    let w = matrix(weight, d_in, d_out);
    let xx_w = matrix(&rows.xx, d_in, d_in) * w;
    let xy = matrix(&rows.xy, d_in, d_out);
    let dots = |j: usize, other: &dyn Fn(usize) -> f64| (0..d_in).map(|i| w[(i, j)] * other(i)).sum::<f64>();
    let error = |j: usize| {
        // In shifted values: y − Wᵀx − b = y′ − Wᵀx′ − c.
        let c = bias[j] + dots(j, &|i| rows.shift_x[i]) - rows.shift_y[j];
        let (quadratic, cross) = (dots(j, &|i| xx_w[(i, j)]), dots(j, &|i| xy[(i, j)]));
        let sum_x = dots(j, &|i| rows.sum_x[i]);
        rows.yy_diagonal[j] + quadratic + n * c * c - 2.0 * (cross + c * rows.sum_y[j] - c * sum_x)
    };
    (0..d_out).map(error).sum()
}

/// Largest eigenvalue of the mean of (x, 1)(x, 1)ᵀ in raw units: the largest curvature of the loss for gradient descent
/// on an affine map. `block` is named in errors.
pub fn raw_curvature(block: usize, rows: &Moments) -> Result<f64> {
    let (n, d) = (rows.n as f64, rows.d_in());
    let xx = matrix(&rows.xx, d, d);
    let (mean, shift) = (rows.mean_x(), &rows.shift_x);
    let entry = |i: usize, j: usize| match (i < d, j < d) {
        (true, true) => xx[(i, j)] / n + mean[i] * shift[j] + shift[i] * mean[j] + shift[i] * shift[j],
        (true, false) => mean[i] + shift[i],
        (false, true) => mean[j] + shift[j],
        (false, false) => 1.0,
    };
    Ok(Eigenvalues::new(block, Mat::from_fn(d + 1, d + 1, entry))?.largest(&[1])[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::moments::Scale;

    /// Rows far from zero, with an unrelated weight and bias.
    fn planted() -> (Vec<[f32; 3]>, Vec<[f32; 2]>, Moments) {
        let x: Vec<[f32; 3]> =
            (0..40).map(|i| [5.0 + (i % 7) as f32, -3.0 + 0.5 * (i % 5) as f32, (i % 3) as f32]).collect();
        let y: Vec<[f32; 2]> = (0..40).map(|i| [2.0 + (i % 4) as f32, -((i % 6) as f32)]).collect();
        let scale = |rows: &[f32], cols| Scale::from_rows(rows, cols);
        let mut moments = Moments::training(&scale(x.as_flattened(), 3), &scale(y.as_flattened(), 2));
        x.iter().zip(&y).for_each(|(x, y)| moments.add_row(x, y));
        (x, y, moments)
    }

    #[test]
    fn squared_error_is_that_of_the_rows() {
        let (x, y, moments) = planted();
        let (weight, bias) = ([0.3, -1.0, 0.7, 0.2, -0.5, 2.0], [1.5, -0.25]);
        let mut expected = 0.0;
        for (x, y) in x.iter().zip(&y) {
            for j in 0..2 {
                let product: f64 = (0..3).map(|i| f64::from(x[i]) * weight[2 * i + j]).sum();
                expected += (f64::from(y[j]) - product - bias[j]).powi(2);
            }
        }
        let found = squared_error(&moments, &weight, &bias);
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
    }

    #[test]
    fn raw_curvature_is_the_largest_rayleigh_quotient() {
        let (x, _, moments) = planted();
        let found = raw_curvature(0, &moments).expect("eigenvalues");
        // Power iteration on the rows themselves.
        let mut v = [1.0; 4];
        let mut expected = 0.0;
        for _ in 0..200 {
            let mut next = [0.0; 4];
            for row in &x {
                let row = [f64::from(row[0]), f64::from(row[1]), f64::from(row[2]), 1.0];
                let dot: f64 = row.iter().zip(&v).map(|(a, b)| a * b).sum();
                next.iter_mut().zip(row).for_each(|(sum, value)| *sum += dot * value / 40.0);
            }
            expected = next.iter().map(|value| value * value).sum::<f64>().sqrt();
            v = next.map(|value| value / expected);
        }
        assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
    }
}
