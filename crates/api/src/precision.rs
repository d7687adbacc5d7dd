//! How many decimals a 95 % interval allows (docs/measures.md, section 2).

use crate::report::Interval;

/// Most decimals of a rounded number, however narrow its interval.
const MOST_DECIMALS: i32 = 6;

/// What a number is rounded to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the width of the interval.
    pub half: f64,
    /// Decimals of the number and of `half`.
    pub decimals: usize,
}

impl Precision {
    /// The last decimal is the first digit of half the width, rounded to that digit; digits before the point are always
    /// kept. `None` if half the width is not positive, or shows in no decimal.
    pub fn of(interval: Interval) -> Option<Self> {
        let half = (interval.high - interval.low) / 2.0;
        if !(half > 0.0 && half.is_finite()) {
            return None;
        }
        // `1e-2` for 0.0096, so that the digit is that of the rounded number.
        let exponent: i32 = format!("{half:.0e}").split_once('e')?.1.parse().ok()?;
        let decimals = exponent.saturating_neg().max(0);
        (decimals <= MOST_DECIMALS).then_some(Self { half, decimals: decimals.unsigned_abs() as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decimals for a half width.
    fn decimals(half: f64) -> Option<usize> {
        Precision::of(Interval { low: -half, high: half }).map(|precision| precision.decimals)
    }

    #[test]
    fn the_first_digit_of_half_the_width_is_the_last_decimal() {
        let halves = [(0.0021, 3), (0.0012, 3), (0.0096, 2), (0.09, 2), (0.095_1, 1), (0.3, 1), (0.96, 0)];
        for (half, expected) in halves {
            assert_eq!(decimals(half), Some(expected), "{half}");
        }
        let interval = Interval { low: 0.847, high: 0.8512 };
        assert!((Precision::of(interval).unwrap().half - 0.0021).abs() < 1e-12);
    }

    #[test]
    fn digits_before_the_point_are_kept_and_decimals_end_at_six() {
        assert_eq!([decimals(1.0), decimals(63.0), decimals(1e300)], [Some(0); 3]);
        assert_eq!(
            [decimals(3e-6), decimals(9.6e-7), decimals(9.4e-7), decimals(1e-300)],
            [Some(6), Some(6), None, None]
        );
    }

    #[test]
    fn an_interval_without_a_width_allows_no_rounding() {
        assert_eq!([0.0, -0.1, f64::NAN, f64::INFINITY, f64::MAX].map(decimals), [None; 5]);
    }
}
