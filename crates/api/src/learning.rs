//! How far R² is from that of a map fitted on many rows: the learning curve of a block and its limit
//! (docs/measures.md, section 2).

use serde::{Deserialize, Serialize};

/// Largest distance of R² from its limit that needs no warning.
pub const SMALL_BIAS: f64 = 0.005;

/// Held-out R² of fits on parts of the training rows, all of about the same size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearningPoint {
    /// Training rows, averaged over the fits.
    pub rows: f64,
    /// R² of every fit; null where other directions would be cut than by the fit on all rows.
    pub r2: Vec<Option<f64>>,
}

impl LearningPoint {
    /// Mean of R² over the fits; `None` if one is undefined.
    pub fn mean(&self) -> Option<f64> {
        let sum = self.r2.iter().copied().sum::<Option<f64>>()?;
        finite(sum / self.r2.len() as f64)
    }

    /// Standard error of that mean, as far as the fits differ among themselves.
    fn error(&self) -> Option<f64> {
        let (mean, count) = (self.mean()?, self.r2.len() as f64);
        let squares: f64 = self.r2.iter().flatten().map(|r2| (r2 - mean).powi(2)).sum();
        finite((squares / (count - 1.0) / count).sqrt())
    }
}

/// R²(n) = R²_∞ − slope·q(n) with q(n) = rank/(n − rank − 1): the excess error of a least-squares fit on n rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningLaw {
    /// R²_∞, the limit for many rows; at most 1, which the law through uncertain values may exceed.
    pub limit: f64,
    /// Standard error of the limit.
    pub error: f64,
    asymptote: f64,
    slope: f64,
    rank: f64,
}

impl LearningLaw {
    /// The law through the two largest of three sizes. Its error has two parts: the spread of the fits at the smallest
    /// size, and the distance from the limit that the two smaller sizes give.
    pub fn new(curve: &[LearningPoint], rank: usize) -> Option<Self> {
        let [first, second, last] = curve else { return None };
        let rank = rank as f64;
        let (early, late) = (Chord::new(first, second, rank)?, Chord::new(second, last, rank)?);
        let spread = first.error()? * late.reach.hypot(1.0 + late.reach);
        let error = finite(spread.hypot(late.limit - early.limit))?;
        Some(Self { limit: late.limit.min(1.0), error, asymptote: late.limit, slope: late.slope, rank })
    }

    /// R² of a fit on `rows` rows.
    pub fn at(&self, rows: f64) -> Option<f64> {
        Some(self.asymptote - self.slope * excess(rows, self.rank)?)
    }

    /// Training rows from which R² is within [`SMALL_BIAS`] of its limit; `None` if it does not grow with the rows.
    pub fn rows_needed(&self) -> Option<f64> {
        let rows = 1.0 + self.rank * (1.0 + self.slope / SMALL_BIAS);
        finite(rows.ceil()).filter(|_| self.slope > 0.0)
    }
}

/// The law through two sizes.
struct Chord {
    limit: f64,
    slope: f64,
    /// Distance of the limit from the larger size, in distances between the sizes.
    reach: f64,
}

impl Chord {
    fn new(fewer: &LearningPoint, more: &LearningPoint, rank: f64) -> Option<Self> {
        let (start, end) = (excess(fewer.rows, rank)?, excess(more.rows, rank)?);
        let r2 = more.mean()?;
        let slope = finite((r2 - fewer.mean()?) / (start - end))?;
        Some(Self { limit: r2 + slope * end, slope, reach: end / (start - end) })
    }
}

/// `None` in place of NaN and infinities.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Expected squared error of a fit in `rank` directions on `rows` rows, beyond that of the best map and in units of it.
fn excess(rows: f64, rank: f64) -> Option<f64> {
    finite(rank / (rows - rank - 1.0)).filter(|excess| *excess > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(r2: impl Fn(f64) -> f64) -> Vec<LearningPoint> {
        let point = |rows: f64| LearningPoint { rows, r2: vec![Some(r2(rows) - 0.01), Some(r2(rows) + 0.01)] };
        [250.0, 500.0, 1000.0].map(point).to_vec()
    }

    #[test]
    fn a_curve_that_follows_the_law_gives_back_its_limit() {
        let r2 = |rows: f64| 0.7 - 0.3 * 50.0 / (rows - 51.0);
        let law = LearningLaw::new(&curve(r2), 50).expect("a law");
        assert!((law.limit - 0.7).abs() <= 1e-12, "{law:?}");
        assert!((law.at(300.0).expect("R²") - r2(300.0)).abs() <= 1e-12);
        // Only the spread of the fits is left: √(0.0002/2) times √(a² + (1 + a)²), with a the reach.
        let (start, end) = (50.0 / 449.0, 50.0 / 949.0);
        let reach: f64 = end / (start - end);
        let expected = 0.01 * reach.hypot(1.0 + reach);
        assert!((law.error - expected).abs() <= 1e-12, "{} is not {expected}", law.error);
        let needed = law.rows_needed().expect("rows");
        let short = |rows: f64| 0.7 - r2(rows);
        assert!(short(needed) <= SMALL_BIAS + 1e-12 && short(needed - 2.0) > SMALL_BIAS, "{needed}");
    }

    #[test]
    fn a_curve_of_another_shape_has_a_larger_error() {
        let points = curve(|rows| 0.7 - (50.0 / rows).sqrt());
        let slow = LearningLaw::new(&points, 50).expect("a law");
        let early = Chord::new(&points[0], &points[1], 50.0).expect("a law");
        assert!(slow.error >= slow.limit - early.limit && slow.error > 0.05, "{slow:?}");
    }

    #[test]
    fn what_is_undefined_has_no_limit_and_what_falls_needs_no_rows() {
        let good = curve(|rows| 0.7 - 10.0 / rows);
        assert_eq!(LearningLaw::new(&good[1..], 50), None, "two sizes");
        assert_eq!(LearningLaw::new(&good, 249), None, "as few rows as directions");
        let mut unknown = good.clone();
        unknown[0].r2[1] = None;
        assert_eq!(LearningLaw::new(&unknown, 50), None);
        let single: Vec<_> = good.iter().map(|point| LearningPoint { r2: vec![Some(0.5)], ..*point }).collect();
        assert_eq!(LearningLaw::new(&single, 50), None, "no spread");
        let steep = LearningLaw::new(&curve(|rows| 1.0 - (10.0 / rows).powi(2)), 50).expect("a law");
        assert!(steep.limit == 1.0 && steep.at(1e9) > Some(1.0), "no R² is above 1: {steep:?}");
        let falling = LearningLaw::new(&curve(|rows| 0.7 + 10.0 / rows), 50).expect("a law");
        assert_eq!(falling.rows_needed(), None);
    }
}
