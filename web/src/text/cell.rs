//! A cell of a table: a number as far as its interval allows, and with all of its digits for hover texts and exports.

use straightedge_api::fields::Field;
use straightedge_api::precision::Precision;
use straightedge_api::report::{BlockReport, Interval};

use super::format::{fixed, full, magnitude, usual};
use super::{detail, fill};

/// From here on numbers are written with an exponent.
const LARGE: f64 = 1e7;

/// A text, or a number that has more digits than are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What is shown.
    pub shown: String,
    /// All digits of the number, where they are not what is shown.
    pub full: Option<String>,
}

impl Cell {
    /// A number: rounded as far as its interval allows, and without one as `usual` writes it.
    pub fn number(value: Option<f64>, interval: Option<Interval>, usual: fn(Option<f64>) -> String) -> Self {
        Self::with_digits(within(value, interval).unwrap_or_else(|| usual(value)), value)
    }

    /// A field of a block; the spread over the folds with their mean, about which it is.
    pub fn of_block(field: Field, block: &BlockReport) -> Self {
        if field == Field::R2CvStd
            && let Some(shown) = over_folds(block, |value| fixed(Some(value), 4))
        {
            return Self { shown, full: over_folds(block, full) };
        }
        let value = field.of_block(block);
        Self::with_digits(within(value, field.interval(block)).unwrap_or_else(|| usual(field, value)), value)
    }

    /// A value of a field without an interval.
    pub fn of_field(field: Field, value: Option<f64>) -> Self {
        Self::with_digits(usual(field, value), value)
    }

    fn with_digits(shown: String, value: Option<f64>) -> Self {
        let full = value.map(full).filter(|full| *full != shown);
        Self { shown, full }
    }

    /// The number with all of its digits, or the text.
    pub fn in_full(&self) -> &str {
        self.full.as_deref().unwrap_or(&self.shown)
    }
}

/// R² over the folds as mean and standard deviation; `None` where they are undefined.
pub fn over_folds(block: &BlockReport, digits: fn(f64) -> String) -> Option<String> {
    let [mean, deviation] = [block.r2_cv_mean?, block.r2_cv_std?].map(digits);
    Some(fill(detail::t().over_folds, &[("mean", &mean), ("deviation", &deviation)]))
}

/// A number and half the width of its interval, rounded as far as the interval allows: `0.849 ± 0.002`. `None` without
/// a value, or an interval that has a width.
pub fn within(value: Option<f64>, interval: Option<Interval>) -> Option<String> {
    let (value, Precision { half, decimals }) = (value?, Precision::of(interval?)?);
    let is_large = value.abs().max(half) >= LARGE;
    let [value, half] =
        [value, half].map(|number| if is_large { magnitude(Some(number)) } else { fixed(Some(number), decimals) });
    Some(format!("{value} ± {half}"))
}

/// A number rounded as far as its interval allows, and in brackets as `exact` writes it; without an interval only the latter.
pub fn rounded_with_exact(value: Option<f64>, interval: Option<Interval>, exact: fn(Option<f64>) -> String) -> String {
    let digits = exact(value);
    within(value, interval).map_or_else(|| digits.clone(), |rounded| format!("{rounded} ({digits})"))
}

impl From<String> for Cell {
    fn from(shown: String) -> Self {
        Self { shown, full: None }
    }
}

impl From<&str> for Cell {
    fn from(shown: &str) -> Self {
        shown.to_string().into()
    }
}

/// A cell equals the text that it shows.
impl PartialEq<&str> for Cell {
    fn eq(&self, shown: &&str) -> bool {
        self.shown == *shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::format::{NOTHING, exact, invariant, share};
    use crate::text::language::Language;
    use crate::text::translation::tests::speaking;

    fn interval(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { low, high })
    }

    #[test]
    fn a_number_has_the_digits_that_its_interval_allows() {
        let cases = [
            (0.849_123, interval(0.847, 0.8512), "0.849 ± 0.002"),
            (0.849_999, interval(0.8404, 0.8596), "0.85 ± 0.01"),
            (-0.012_3, interval(-0.1, 0.08), "−0.01 ± 0.09"),
            (0.000_01, interval(-0.004, 0.004), "0.000 ± 0.004"),
            (1234.56, interval(1170.0, 1296.0), "1235 ± 63"),
            (-2.348e8, interval(-2.4e8, -2.3e8), "−2.35e8 ± 5.00e6"),
            (3.0, interval(0.0, 4e9), "3.00 ± 2.00e9"),
        ];
        for (value, interval, text) in cases {
            assert_eq!(within(Some(value), interval).as_deref(), Some(text));
        }
    }

    #[test]
    fn without_an_interval_that_has_a_width_the_usual_digits_stay() {
        for none in [None, interval(0.5, 0.5), interval(0.6, 0.4), interval(1.0 - 1e-9, 1.0), interval(f64::NAN, 1.0)] {
            assert_eq!(within(Some(0.5), none), None, "{none:?}");
            assert_eq!(Cell::number(Some(0.5), none, exact), "0.500000");
            assert_eq!(rounded_with_exact(Some(0.5), none, share), "0.500000");
        }
        assert_eq!(Cell::number(None, interval(0.4, 0.6), share), NOTHING);
        assert_eq!(rounded_with_exact(None, interval(0.4, 0.6), share), NOTHING);
    }

    #[test]
    fn all_digits_stay_with_a_rounded_number() {
        let value = 0.849_123_456_789_012_3;
        let cell = Cell::number(Some(value), interval(0.847, 0.8512), share);
        assert_eq!(cell.in_full().parse(), Ok(value));
        assert_eq!(rounded_with_exact(Some(value), interval(0.847, 0.8512), share), "0.849 ± 0.002 (0.849123)");
        assert_eq!((Cell::number(Some(3.0), None, exact).full, Cell::from("a").in_full()), (None, "a"));
    }

    #[test]
    fn a_field_is_rounded_by_its_own_interval_and_to_four_decimals_without_one() {
        let intervals = [("r2_lin".into(), Interval { low: 0.8, high: 0.9 })].into();
        let (r2_lin, r2_feature_median) = (Some(0.849_123), Some(0.712_345));
        let block = BlockReport { r2_lin, r2_feature_median, intervals, ..BlockReport::default() };
        assert_eq!(Cell::of_block(Field::R2Lin, &block), "0.85 ± 0.05");
        let median = Cell::of_block(Field::R2FeatureMedian, &block);
        assert_eq!((median.shown.as_str(), median.in_full()), ("0.7123", "0.712345"));
        assert_eq!(Cell::of_field(Field::R2Lin, r2_lin), "0.8491");
    }

    #[test]
    fn a_spread_over_the_folds_stands_with_their_mean() {
        let mut block = BlockReport { r2_lin: Some(0.5), r2_cv_std: Some(0.012_345), ..BlockReport::default() };
        block.r2_cv_mean = Some(0.415_678);
        let cell = Cell::of_block(Field::R2CvStd, &block);
        assert_eq!(cell, "mean 0.4157 (sd 0.0123)");
        assert_eq!(cell.in_full(), "mean 0.415678 (sd 0.012345)");
        block.r2_cv_mean = None;
        assert_eq!(Cell::of_block(Field::R2CvStd, &block), "0.0123");
    }

    #[test]
    fn rounded_numbers_have_the_decimal_sign_of_the_language() {
        speaking(Language::German);
        let cell = Cell::number(Some(-0.849_123), interval(-0.8512, -0.847), share);
        assert_eq!((cell.shown.as_str(), cell.in_full()), ("−0,849 ± 0,002", "−0,849123"));
        assert_eq!(invariant(cell.in_full()).as_deref(), Some("-0.849123"));
        assert_eq!(rounded_with_exact(Some(0.5), interval(0.4, 0.6), share), "0,5 ± 0,1 (0,500000)");
        speaking(Language::English);
    }
}
