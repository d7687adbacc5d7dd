//! Outlier rows, one at the start of every window, that alone make R² high.

use straightedge_random::Random;

use super::super::dense::{CUT, Rows};

/// Largest outlier size.
pub(super) const MOST: u32 = 40;
/// Rows per window, and number of windows; the last ones are held out.
const WINDOW: usize = 16;
const WINDOWS: usize = 20;
const TRAINING: usize = 16;
/// R² that would be taken for linear.
const HIGH: f64 = 0.9;

/// The current setting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlier {
    /// Size of the first row of every window, in standard deviations.
    pub size: u32,
    /// Whether first rows are excluded from fit and score.
    pub is_left_out: bool,
}

impl Outlier {
    /// All rows; outliers are at multiples of the window.
    pub fn rows(self) -> Rows {
        let mut random = Random::new(5);
        let mut rows = Rows::default();
        for at in 0..WINDOW * WINDOWS {
            let away = if Self::is_first(at) { f64::from(self.size) } else { 0.0 };
            let (x, y) = (random.nearly_normal(), random.nearly_normal());
            rows.x.push(vec![x + away]);
            rows.y.push(y + away * 0.6);
        }
        rows
    }

    /// Whether a row is the first of its window.
    pub fn is_first(at: usize) -> bool {
        at.is_multiple_of(WINDOW)
    }

    /// Held-out R² of the best line, with its slope and its value at 0.
    pub fn fit(self) -> (f64, [f64; 2]) {
        let rows = self.rows();
        let is_in = |at: usize| !self.is_left_out || !Self::is_first(at);
        let training = rows.only(|at| at < TRAINING * WINDOW && is_in(at));
        let held_out = rows.only(|at| at >= TRAINING * WINDOW && is_in(at));
        let map = training.fit(CUT);
        (held_out.r2(&map), [map.weights[0], map.bias])
    }

    pub(super) fn shows(self) -> bool {
        !self.is_left_out && self.fit().0 >= HIGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_rows_make_r2_and_it_is_gone_without_them() {
        let none = Outlier::default().fit().0;
        assert!(none < 0.05, "nothing relates x and y: {none}");
        let high = Outlier { size: MOST, is_left_out: false }.fit().0;
        assert!(high > HIGH, "{high}");
        let again = Outlier { size: MOST, is_left_out: true }.fit().0;
        assert!(again < 0.05, "{again}");
        let firsts = (0..WINDOW * WINDOWS).filter(|at| Outlier::is_first(*at)).count();
        assert_eq!(firsts, WINDOWS);
    }
}
