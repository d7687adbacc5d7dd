//! Selected eigenvalues of a symmetric matrix without eigenvectors: by rank, and their number above a bound.
//!
//! The matrix is reduced to tridiagonal form once; bisection then counts by the signs of a Sturm sequence (Barth,
//! Martin and Wilkinson 1967), several ranks at a time. A report needs some fifty eigenvalues: computing all of them
//! takes a third of the time of the tridiagonal reduction, these take a twentieth.

use faer::Mat;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};

use super::matrices::{PAR, unsolved};
use crate::error::Result;

/// Ranks that are bisected in parallel, in vector lanes.
const LANES: usize = 8;
/// Bisection steps after which an interval is far below the rounding error of the largest eigenvalue.
const HALVINGS: usize = 60;

/// The eigenvalues of a symmetric matrix, represented by a tridiagonal matrix that has the same.
#[derive(Clone, Debug)]
pub(super) struct Eigenvalues {
    diagonal: Vec<f64>,
    /// Square of the off-diagonal entry between i − 1 and i; 0 for i = 0.
    squares: Vec<f64>,
    /// Bounds of all eigenvalues (Gershgorin).
    bounds: [f64; 2],
}

impl Eigenvalues {
    /// Reduces the matrix with this lower triangle. `block` is named in errors.
    pub(super) fn new(block: usize, mut matrix: Mat<f64>) -> Result<Self> {
        let n = matrix.nrows();
        if n > 0 {
            let mut reflections = Mat::zeros(1, n - 1);
            let mut memory = MemBuffer::new(tridiag_in_place_scratch::<f64>(n, PAR, Default::default()));
            let stack = MemStack::new(&mut memory);
            tridiag_in_place(matrix.as_mut(), reflections.as_mut(), PAR, stack, Default::default());
        }
        let diagonal: Vec<f64> = (0..n).map(|i| matrix[(i, i)]).collect();
        let coupling = |i: usize| if i == 0 || i >= n { 0.0 } else { matrix[(i, i - 1)].abs() };
        let reach: Vec<f64> = (0..n).map(|i| coupling(i) + coupling(i + 1)).collect();
        let ends = || diagonal.iter().zip(&reach);
        let bounds = [
            ends().map(|(value, reach)| value - reach).fold(f64::INFINITY, f64::min),
            ends().map(|(value, reach)| value + reach).fold(f64::NEG_INFINITY, f64::max),
        ];
        let finite = diagonal.iter().chain(&reach).all(|value| value.is_finite());
        let squares = (0..n).map(|i| coupling(i).powi(2)).collect();
        if finite { Ok(Self { diagonal, squares, bounds }) } else { Err(unsolved(block, "a moment is not finite")) }
    }

    /// Number of eigenvalues.
    pub(super) fn count(&self) -> usize {
        self.diagonal.len()
    }

    /// The k-th largest eigenvalue for every k, from 1 to their count.
    pub(super) fn largest(&self, k: &[usize]) -> Vec<f64> {
        k.chunks(LANES).flat_map(|k| self.bisect(k)[..k.len()].to_vec()).collect()
    }

    /// Number of eigenvalues above `bound`.
    pub(super) fn above(&self, bound: f64) -> usize {
        // Eigenvalues equal to the bound count as below.
        self.count() - self.below(&[bound.next_up(); LANES])[0] as usize
    }

    fn bisect(&self, k: &[usize]) -> [f64; LANES] {
        let [mut low, mut high] = self.bounds.map(|bound| [bound; LANES]);
        let place: [u64; LANES] = std::array::from_fn(|lane| (self.count() - k[lane.min(k.len() - 1)]) as u64);
        for _ in 0..HALVINGS {
            let middle = std::array::from_fn(|lane| f64::midpoint(low[lane], high[lane]));
            let below = self.below(&middle);
            for lane in 0..LANES {
                *(if below[lane] > place[lane] { &mut high[lane] } else { &mut low[lane] }) = middle[lane];
            }
        }
        std::array::from_fn(|lane| f64::midpoint(low[lane], high[lane]))
    }

    /// Number of eigenvalues below each bound: the number of negative pivots when T − bound is factorised.
    fn below(&self, bounds: &[f64; LANES]) -> [u64; LANES] {
        let largest = self.squares.iter().copied().fold(1.0, f64::max);
        // A zero pivot is replaced by a tiny negative one, so that no quotient overflows.
        let tiny = f64::MIN_POSITIVE * largest;
        let (mut pivots, mut negative) = ([1.0; LANES], [0; LANES]);
        for (diagonal, square) in self.diagonal.iter().zip(&self.squares) {
            for lane in 0..LANES {
                let pivot = diagonal - bounds[lane] - square / pivots[lane];
                pivots[lane] = if pivot.abs() <= tiny { -tiny } else { pivot };
                negative[lane] += u64::from(pivots[lane] < 0.0);
            }
        }
        negative
    }
}

#[cfg(test)]
mod tests {
    use faer::Side;

    use super::*;
    use crate::platform::random::Random;

    fn symmetric(n: usize, decades: f64) -> Mat<f64> {
        let mut random = Random::new(n as u64);
        let half = Mat::from_fn(n, n, |_, j| random.normal() * 10f64.powf(-decades * j as f64 / n as f64));
        &half * half.transpose()
    }

    #[test]
    fn every_place_has_the_eigenvalue_of_a_decomposition() {
        for (n, decades) in [(1, 0.0), (2, 0.0), (7, 3.0), (33, 0.0), (64, 8.0)] {
            let matrix = symmetric(n, decades);
            let expected = matrix.self_adjoint_eigenvalues(Side::Lower).expect("eigenvalues");
            let k: Vec<usize> = (1..=n).collect();
            let found = Eigenvalues::new(0, matrix).expect("eigenvalues").largest(&k);
            let largest = expected[n - 1];
            for (found, expected) in found.iter().zip(expected.iter().rev()) {
                assert!((found - expected).abs() <= 1e-14 * n as f64 * largest, "{n}: {found} {expected}");
            }
            assert_eq!(found.len(), n);
        }
    }

    #[test]
    fn those_above_a_number_are_counted() {
        let diagonal = [3.0, -1.0, 2.0, 2.0, 0.0];
        let matrix = Mat::from_fn(5, 5, |i, j| if i == j { diagonal[i] } else { 0.0 });
        let values = Eigenvalues::new(0, matrix).expect("eigenvalues");
        for (bound, above) in [(-2.0, 5), (-1.0, 4), (0.0, 3), (1.0, 3), (2.0, 1), (3.0, 0)] {
            assert_eq!(values.above(bound), above, "above {bound}");
        }
        assert!((values.largest(&[3, 1])[0] - 2.0).abs() <= 1e-15);
    }

    #[test]
    fn nothing_has_no_eigenvalues_and_what_is_no_number_is_refused() {
        let none = Eigenvalues::new(0, Mat::zeros(0, 0)).expect("none");
        assert_eq!((none.count(), none.above(0.0), none.largest(&[])), (0, 0, vec![]));
        for value in [f64::NAN, f64::INFINITY] {
            let matrix = Mat::from_fn(4, 4, |i, j| if i == 2 && j == 1 { value } else { f64::from(i == j) });
            assert!(Eigenvalues::new(0, matrix).is_err(), "{value}");
        }
    }
}
