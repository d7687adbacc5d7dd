//! Outputs around different constants: a single mean for all of them counts the constants as explained.

use straightedge_random::Random;

use super::super::dense::{CUT, Map, Rows, mean};

/// Largest offset.
pub(super) const MOST: u32 = 30;
/// Constant of each output, in units of the offset.
const CONSTANTS: [f64; 4] = [-1.0, -0.4, 0.5, 1.2];
const ROWS: usize = 400;
/// Difference of the two scores that is visible at a glance.
const GAP: f64 = 0.3;

/// The current setting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scalar {
    /// Distance of the constants, in tenths of a standard deviation.
    pub offset: u32,
}

impl Scalar {
    /// Held-out R² of the best maps of all outputs, against one mean each and against one common mean.
    pub fn scores(self) -> [f64; 2] {
        let offset = f64::from(self.offset) / 10.0;
        let outputs: Vec<_> =
            CONSTANTS.iter().enumerate().map(|(at, constant)| synthetic(at, constant * offset)).collect();
        let fitted: Vec<(Rows, Map)> = outputs
            .iter()
            .map(|rows| (rows.only(|at| at >= ROWS / 2), rows.only(|at| at < ROWS / 2).fit(CUT)))
            .collect();
        let error: f64 = fitted.iter().map(|(rows, map)| rows.squared_error(map)).sum();
        let spread = |guess: &dyn Fn(&Rows) -> f64| {
            let around = |rows: &Rows| {
                let guess = guess(rows);
                rows.y.iter().map(|y| (y - guess).powi(2)).sum::<f64>()
            };
            fitted.iter().map(|(rows, _)| around(rows)).sum::<f64>()
        };
        let all: Vec<f64> = fitted.iter().flat_map(|(rows, _)| rows.y.iter().copied()).collect();
        let one = mean(&all);
        [1.0 - error / spread(&|rows| mean(&rows.y)), 1.0 - error / spread(&|_| one)]
    }

    /// Both scores for every offset.
    pub fn curve() -> Vec<[f64; 2]> {
        (0..=MOST).map(|offset| Self { offset }.scores()).collect()
    }

    pub(super) fn shows(self) -> bool {
        let [own, scalar] = self.scores();
        scalar - own >= GAP
    }
}

/// Synthetic rows of one output; the input explains about a third of it.
fn synthetic(output: usize, constant: f64) -> Rows {
    let mut random = Random::new(11 + output as u64);
    let mut rows = Rows::default();
    for _ in 0..ROWS {
        let x = random.nearly_normal();
        rows.x.push(vec![x]);
        rows.y.push(constant + 0.6 * x + 0.8 * random.nearly_normal());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_raise_the_scalar_score_alone_and_never_lower_it() {
        let curve = Scalar::curve();
        let [first, _] = curve[0];
        // The input explains 0.36 of the variance of 1.
        assert!((first - 0.36).abs() < 0.05, "{first}");
        for [own, scalar] in &curve {
            assert!((own - first).abs() <= 1e-9 && scalar >= own, "{own} {scalar}");
        }
        // Constants of variance 0.7119 at offset 3: 1 − (1 − R²)·v/(v + 9·0.7119), v the outputs' own variance.
        let [own, scalar] = curve[30];
        assert!((scalar - (1.0 - (1.0 - own) / (1.0 + 9.0 * 0.7119))).abs() < 0.03, "{own} {scalar}");
    }
}
