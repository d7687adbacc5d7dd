//! How far held-out rows lie from the training rows of a fit (docs/measures.md, section 2).

use faer::Mat;

use super::deflated::{Factor, deflate, leave_out};
use super::fit::{Eigenvectors, LinearFit, VaryingColumns, few};
use super::matrices::{column_dots, transposed};
use super::training::TrainingMoments;
use crate::error::Result;
use crate::report::finite;
use crate::stats::moments::Moments;

/// Held-out rows relative to the directions that the fit keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HeldOutSupport {
    /// Mean squared Mahalanobis distance from the training mean in the kept directions, relative to that of as many
    /// independent normal rows of the training distribution.
    pub(super) distance: Option<f64>,
    /// Share of the variance about the training mean, in units of σ, in directions that the fit leaves out.
    pub(super) outside: Option<f64>,
}

impl HeldOutSupport {
    /// Of the rows `heldout`, for a fit on `train`; `block` is named in errors.
    pub(super) fn new(block: usize, fit: &LinearFit, train: &TrainingMoments<'_>, heldout: &Moments) -> Result<Self> {
        let columns = VaryingColumns::new(train);
        let about = scaled_squares(&columns, train, heldout);
        let d = columns.active.len();
        let total: f64 = (0..d).map(|j| about[(j, j)]).sum();
        // In units of σ: D·v becomes v.
        let cut = &fit.kept.cut;
        let left_out = Mat::from_fn(d, cut.ncols(), |i, k| cut[(columns.active[i], k)] / columns.inverse[i]);
        let outside: f64 = column_dots(&left_out, &(&about * &left_out)).iter().sum();
        let (n, rank) = (train.n, fit.rank() as f64);
        let expected = rank * (n + 1.0) / (n - rank - 2.0);
        let distance = match whitened_trace(&columns, train, &left_out, &about) {
            Some(trace) => trace,
            None => trace_by_eigenvectors(&Eigenvectors::new(block, &columns, train)?, &columns, &about),
        };
        Ok(Self {
            distance: finite(distance / expected).filter(|_| expected > 0.0),
            outside: finite(outside / total).map(|share| share.max(0.0)),
        })
    }
}

/// Mean of D(x − x̄)(x − x̄)ᵀD over the rows, in the active columns; x̄ is the training mean.
fn scaled_squares(columns: &VaryingColumns, train: &TrainingMoments<'_>, rows: &Moments) -> Mat<f64> {
    let (n, d_in, own) = (rows.n as f64, rows.d_in(), rows.mean_x());
    let offset: Vec<f64> = own.iter().zip(&train.mean_x).map(|(own, mean)| own - mean).collect();
    let d = columns.active.len();
    Mat::from_fn(d, d, |p, q| {
        let (i, j) = (columns.active[p], columns.active[q]);
        let covariance = rows.xx[j * d_in + i] / n - own[i] * own[j];
        (covariance + offset[i] * offset[j]) * columns.inverse[p] * columns.inverse[q]
    })
}

/// tr(C⁺·S) by a Cholesky factor; `None` where the fit takes eigenvectors.
fn whitened_trace(
    columns: &VaryingColumns,
    train: &TrainingMoments<'_>,
    cut: &Mat<f64>,
    squares: &Mat<f64>,
) -> Option<f64> {
    let d = columns.active.len();
    if d == 0 || !few(cut.ncols(), d) {
        return None;
    }
    let mut correlation = columns.correlation(train);
    deflate(&mut correlation, cut, 1.0);
    let factor = Factor::new(correlation)?;
    // L⁻¹·(1 − VVᵀ)·S·(1 − VVᵀ)·L⁻ᵀ, one side after the other.
    let mut whitened = squares.clone();
    for _ in 0..2 {
        whitened = transposed(&whitened);
        leave_out(cut, whitened.as_mut());
        factor.whiten(whitened.as_mut());
    }
    Some((0..d).map(|j| whitened[(j, j)]).sum())
}

/// The same by eigenvectors.
fn trace_by_eigenvectors(eigen: &Eigenvectors, columns: &VaryingColumns, squares: &Mat<f64>) -> f64 {
    let d = columns.active.len();
    let basis = Mat::from_fn(d, eigen.kept.len(), |i, k| eigen.basis[(columns.active[i], k)] / columns.inverse[i]);
    let squares = column_dots(&basis, &(squares * &basis));
    squares.iter().zip(&eigen.kept).map(|(square, variance)| square / variance).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    /// Rows of independent normal numbers with these standard deviations; the last input is the sum of the first two.
    fn rows(random: &mut Random, count: usize, deviations: &[f64], noise: f64) -> Moments {
        let d = deviations.len() + 1;
        let mut x = Vec::new();
        for _ in 0..count {
            let values: Vec<f64> = deviations.iter().map(|deviation| deviation * random.normal()).collect();
            x.extend(values.iter().map(|value| *value as f32));
            x.push((values[0] + values[1] + noise * random.normal()) as f32);
        }
        let y: Vec<f32> = x.chunks(d).map(|row| row[0] + random.normal() as f32).collect();
        let scale = |d| Scale { shift: vec![0.0; d], exponent: vec![4; d] };
        let mut moments = Moments::training(&scale(d), &scale(1));
        moments.add_rows(&x, &y);
        moments
    }

    fn support(d: usize, heldout: [f64; 2]) -> HeldOutSupport {
        let mut random = Random::new(3);
        let train = [rows(&mut random, 1500, &vec![1.0; d], 0.0)];
        let [deviation, noise] = heldout;
        let heldout = rows(&mut random, 20_000, &vec![deviation; d], noise);
        let train = TrainingMoments::all_but(&train, 1);
        let fit = LinearFit::new(0, &train).expect("a fit");
        assert_eq!(fit.kept.cut.ncols(), 1, "the sum is no direction of its own");
        HeldOutSupport::new(0, &fit, &train, &heldout).expect("support")
    }

    #[test]
    fn fresh_rows_lie_as_far_as_expected_and_wider_ones_farther() {
        // Of 4 directions few are too many to be left out by a factor: by eigenvectors; of 13 by a factor.
        for d in [3, 12] {
            let alike = support(d, [1.0, 0.0]);
            assert!((alike.distance.expect("a distance") - 1.0).abs() < 0.02, "{d}: {alike:?}");
            assert!(alike.outside.expect("a share") < 1e-12, "{d}: {alike:?}");
            let wider = support(d, [2.0, 0.0]);
            assert!((wider.distance.expect("a distance") - 4.0).abs() < 0.08, "{d}: {wider:?}");
        }
    }

    #[test]
    fn variance_in_a_direction_that_training_rows_lack_is_outside() {
        let found = support(12, [1.0, 0.5]).outside.expect("a share");
        // v = (1, 1, −√2)/2 in units of σ = (1, 1, √2): the noise is 0.25/2 in the last input, half of it along v.
        let expected = 0.25 / 2.0 * 0.5 / (13.0 + 0.25 / 2.0);
        assert!((found / expected - 1.0).abs() < 0.1, "{found} where {expected} is expected");
    }
}
