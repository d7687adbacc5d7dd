//! Which share of every direction of y the affine map explains, whatever the variance of the direction
//! (docs/measures.md, section 3).

use faer::Mat;

use super::eigen::self_adjoint;
use super::eigenvalues::Eigenvalues;
use super::fit::{LinearFit, TAU};
use super::matrices::symmetric_product;
use super::score::EFFECTIVE_SHARE;
use super::training::{CONSTANT, TrainingMoments};
use crate::error::Result;
use crate::report::finite;
use crate::stats::moments::Moments;

/// The squared canonical correlations ρ² of ŷ and y, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanonicalScore {
    /// Smallest k whose k largest ρ² hold 90 % of their sum.
    pub effective_rank: Option<usize>,
    /// Σρ² over the directions of y that are not cut.
    pub r2_mean: Option<f64>,
}

/// Scores the affine fit on its own rows, whose moments must have the full yyᵀ. `block` is named in errors.
pub fn canonical_score(block: usize, rows: &Moments) -> Result<CanonicalScore> {
    let yy = rows.yy.as_ref().expect("the full square of y");
    let train = TrainingMoments::from(rows);
    let fit = LinearFit::new(block, &train)?;
    let (d, mean) = (train.d_out(), &train.mean_y);
    let deviation: Vec<f64> = train.variance_y.iter().map(|variance| variance.sqrt()).collect();
    let varies = |j: &usize| deviation[*j] > CONSTANT * (mean[*j] + rows.shift_y[*j]).abs();
    let active: Vec<usize> = (0..d).filter(varies).collect();
    if active.is_empty() {
        return Ok(CanonicalScore::default());
    }
    let correlation = Mat::from_fn(active.len(), active.len(), |p, q| {
        let (i, j) = (active[p], active[q]);
        (yy[i * d + j] / train.n - mean[i] * mean[j]) / (deviation[i] * deviation[j])
    });
    let eigen = self_adjoint(block, correlation.as_ref())?;
    let spectrum: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let largest = spectrum.last().copied().unwrap_or(0.0);
    let cut = spectrum.partition_point(|&lambda| !(lambda > TAU * largest));
    let (_, directions) = eigen.U().split_at_col(cut);
    // Cov(ŷ) = HᵀH, so that ρ² are the squared singular values of H·D·Q·Λ^(−1/2).
    let explained = &fit.whitened;
    let scaled = Mat::from_fn(explained.nrows(), active.len(), |i, p| explained[(i, active[p])] / deviation[active[p]]);
    let mut whitened = scaled * directions;
    for (column, lambda) in whitened.col_iter_mut().zip(&spectrum[cut..]) {
        column.iter_mut().for_each(|value| *value /= lambda.sqrt());
    }
    let count = whitened.ncols();
    let places: Vec<usize> = (1..=count).collect();
    let shares = Eigenvalues::new(block, symmetric_product(&whitened, &whitened))?.largest(&places);
    // Rounding leaves [0, 1].
    let shares: Vec<f64> = shares.into_iter().map(|share| share.clamp(0.0, 1.0)).collect();
    let total: f64 = shares.iter().sum();
    let mut sum = 0.0;
    let holds = |share: &f64| {
        sum += share;
        sum >= EFFECTIVE_SHARE * total
    };
    let effective_rank = shares.iter().position(holds).map(|place| place + 1).filter(|_| total > 0.0);
    Ok(CanonicalScore { effective_rank, r2_mean: finite(total / count as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    /// ρ² of four directions of y, which are mixed and scaled by `mix`.
    const SHARES: [f64; 4] = [0.9, 0.8, 0.1, 0.0];

    fn score(mix: [[f64; 4]; 4]) -> CanonicalScore {
        let mut random = Random::new(5);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..40_000 {
            let inputs = [(); 4].map(|()| random.normal());
            let outputs: [f64; 4] =
                std::array::from_fn(|j| SHARES[j].sqrt() * inputs[j] + (1.0 - SHARES[j]).sqrt() * random.normal());
            x.extend(inputs.map(|value| value as f32));
            y.extend(mix.map(|row| row.iter().zip(&outputs).map(|(m, y)| m * y).sum::<f64>() as f32));
        }
        let mut moments = Moments::heldout(&Scale::from_rows(&x, 4), &Scale::from_rows(&y, 4));
        moments.add_rows(&x, &y);
        canonical_score(0, &moments).expect("a score")
    }

    #[test]
    fn every_direction_counts_the_same_however_y_is_mixed_and_scaled() {
        let plain = score([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
        let mean = plain.r2_mean.expect("a mean");
        assert!((mean - SHARES.iter().sum::<f64>() / 4.0).abs() < 0.005, "{plain:?}");
        assert_eq!(plain.effective_rank, Some(2), "1.7 of 1.8");
        let mixed =
            score([[300.0, 1.0, -2.0, 5.0], [0.5, 0.01, 0.02, -0.03], [1.0, -4.0, 2.0, 1.0], [0.3, 0.1, 0.2, 7.0]]);
        assert_eq!(mixed.effective_rank, plain.effective_rank);
        let off = mixed.r2_mean.expect("a mean") - mean;
        assert!(off.abs() < 1e-6, "{off}");
    }

    #[test]
    fn constant_and_repeated_outputs_are_no_directions() {
        let plain = score([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0; 4], [0.0; 4]]);
        let repeated = score([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0; 4]]);
        let mean = plain.r2_mean.expect("a mean");
        assert!((mean - 0.85).abs() < 0.005, "{plain:?}");
        assert!((repeated.r2_mean.expect("a mean") - mean).abs() < 1e-9, "{repeated:?}");
        assert_eq!(score([[0.0; 4]; 4]), CanonicalScore::default());
    }
}
