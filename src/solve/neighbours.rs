//! Intrinsic dimension of rows from the distances to their two nearest neighbours, "TwoNN" (Facco et al. 2017;
//! docs/measures.md, section 7).

use faer::Mat;

use super::matrices::one_thread_per_matrix;
use crate::report::finite;

/// Rows whose squared distance is at most this share of their squared lengths are equal to f32 precision.
const EQUAL: f64 = 1e-10;

/// The maximum-likelihood estimate (ν − 1)/Σ ln(r₂/r₁) over the ν rows that are unequal to all others; `rows` is
/// row-major n × d. `None` for fewer than two such rows.
pub fn intrinsic_dimension(rows: &[f32], d: usize) -> Option<f64> {
    one_thread_per_matrix();
    let n = rows.len() / d.max(1);
    let mean: Vec<f64> =
        (0..d).map(|j| rows.iter().skip(j).step_by(d).map(|&x| f64::from(x)).sum::<f64>() / n as f64).collect();
    let centred = Mat::from_fn(n, d, |i, j| f64::from(rows[i * d + j]) - mean[j]);
    let products = &centred * centred.transpose();
    let squares: Vec<f64> = (0..n).map(|i| products[(i, i)]).collect();
    let (mut logs, mut counted) = (0.0, 0.0);
    for i in 0..n {
        let mut nearest = [f64::INFINITY; 2];
        let mut is_unique = true;
        for (j, product) in products.col(i).iter().enumerate().filter(|(j, _)| *j != i) {
            let lengths = squares[i] + squares[j];
            let square = lengths - 2.0 * product;
            is_unique &= square > EQUAL * lengths;
            if square < nearest[0] {
                nearest = [square, nearest[0]];
            } else if square < nearest[1] {
                nearest[1] = square;
            }
        }
        if is_unique && nearest[1].is_finite() {
            logs += (nearest[1] / nearest[0]).ln() / 2.0;
            counted += 1.0;
        }
    }
    finite((counted - 1.0) / logs).filter(|_| counted >= 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;

    /// Rows of `inner` normal numbers in a random linear image of `outer` dimensions.
    fn rows(count: usize, inner: usize, outer: usize) -> Vec<f32> {
        let mut random = Random::new(8);
        let image: Vec<f64> = (0..inner * outer).map(|_| random.normal()).collect();
        let mut row = || {
            let values: Vec<f64> = (0..inner).map(|_| random.normal()).collect();
            let at = |j: usize| values.iter().enumerate().map(|(i, value)| value * image[i * outer + j]).sum::<f64>();
            (0..outer).map(|j| at(j) as f32).collect::<Vec<_>>()
        };
        (0..count).flat_map(|_| row()).collect()
    }

    #[test]
    fn the_dimension_is_that_of_the_rows_and_not_of_the_space() {
        for (inner, expected) in [(1, 1.0), (2, 2.0), (5, 5.0)] {
            let found = intrinsic_dimension(&rows(1000, inner, 20), 20).expect("a dimension");
            assert!((found / expected - 1.0).abs() < 0.1, "{found} where {expected} is expected");
        }
    }

    #[test]
    fn equal_rows_are_left_out() {
        let unique = rows(400, 2, 6);
        let found = intrinsic_dimension(&unique, 6).expect("a dimension");
        let mut with_twins = unique.clone();
        with_twins.extend_from_slice(&[1e3; 12]);
        let again = intrinsic_dimension(&with_twins, 6).expect("a dimension");
        assert!((found - again).abs() < 1e-6, "{found} {again}");
        assert_eq!(intrinsic_dimension(&[1.0; 60], 6), None);
        assert_eq!(intrinsic_dimension(&[], 6), None);
        assert_eq!(intrinsic_dimension(&[0.0, 1.0], 1), None);
    }
}
