//! Agreement of two profiles: correlations and the mean shift (docs/measures.md, section 6, `corpus`), as plain data.
//! Also the median of a list.

use std::collections::BTreeMap;

use crate::report::{Report, finite};

/// Agreement of two lists where both have a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Number of pairs.
    pub pairs: usize,
    /// Pearson's r; `None` for fewer than two pairs or where one list is constant.
    pub pearson: Option<f64>,
    /// Spearman's ρ: Pearson's r of the ranks, with ties at their mean rank; `None` as above.
    pub spearman: Option<f64>,
    /// Mean of |b − a|; `None` without a pair.
    pub mean_shift: Option<f64>,
}

impl Agreement {
    /// Compares two lists index by index; the excess of the longer one is ignored.
    pub fn new(a: &[Option<f64>], b: &[Option<f64>]) -> Self {
        let known = |value: &Option<f64>| value.and_then(finite);
        let (a, b): (Vec<f64>, Vec<f64>) = a.iter().zip(b).filter_map(|(a, b)| known(a).zip(known(b))).unzip();
        let shift: f64 = a.iter().zip(&b).map(|(a, b)| (b - a).abs()).sum();
        Self {
            pairs: a.len(),
            pearson: correlation(&a, &b),
            spearman: correlation(&ranks(&a), &ranks(&b)),
            mean_shift: finite(shift / a.len() as f64),
        }
    }

    /// Compares the `r2_lin` profiles of two reports block by block.
    pub fn of_profiles(a: &Report, b: &Report) -> Self {
        let profile = |report: &Report| -> BTreeMap<usize, Option<f64>> {
            report.blocks.iter().map(|block| (block.block, block.r2_lin)).collect()
        };
        let other = profile(b);
        let pairs = profile(a).into_iter().map(|(block, r2)| (r2, other.get(&block).copied().flatten()));
        let (a, b): (Vec<_>, Vec<_>) = pairs.unzip();
        Self::new(&a, &b)
    }
}

/// Pearson's r of two lists of equal length; `None` if one is constant.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let constant = |values: &[f64]| values.windows(2).all(|pair| pair[0] == pair[1]);
    // Tests the values themselves, because rounding gives a constant list a variance.
    if constant(a) || constant(b) {
        return None;
    }
    let centred = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a, b) = (centred(a), centred(b));
    finite(dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()).map(|r| r.clamp(-1.0, 1.0))
}

/// The 95 % interval of Pearson's r over `pairs` independent pairs, by Fisher's z-transform (docs/measures.md, section 6,
/// `corpus`); `None` for fewer than four.
pub fn correlation_interval(r: f64, pairs: usize) -> Option<[f64; 2]> {
    /// The 97.5 % quantile of the normal distribution.
    const QUANTILE: f64 = 1.959_963_984_540_054;
    let half = QUANTILE / (pairs as f64 - 3.0).sqrt();
    (pairs > 3).then(|| [-half, half].map(|off| (r.atanh() + off).tanh()))
}

/// The median; of an even count the mean of the middle two, `None` of an empty list.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// The rank of every value from 1; ties get their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    fn assert_close(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?} where {expected} is expected");
    }

    #[test]
    fn known_values() {
        // Deviations −2 −1 0 1 2 and −1 −2 1 0 2: products 2 + 2 + 0 + 0 + 4 = 8 over √(10·10).
        let found = Agreement::new(&some(&[1.0, 2.0, 3.0, 4.0, 5.0]), &some(&[2.0, 1.0, 4.0, 3.0, 5.0]));
        assert_eq!(found.pairs, 5);
        assert_close(found.pearson, 0.8);
        assert_close(found.spearman, 0.8);
        assert_close(found.mean_shift, 0.8);
    }

    #[test]
    fn a_monotone_bend_keeps_the_order_and_loses_correlation() {
        // Deviations −1 0 1 and −4 −3 7.
        let found = Agreement::new(&some(&[1.0, 2.0, 3.0]), &some(&[1.0, 2.0, 12.0]));
        assert_close(found.spearman, 1.0);
        assert_close(found.pearson, 11.0 / (2.0f64 * 74.0).sqrt());
        let falling = Agreement::new(&some(&[1.0, 2.0, 3.0]), &some(&[12.0, 2.0, 1.0]));
        assert_close(falling.spearman, -1.0);
    }

    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[0.5, 0.1, 0.5, 0.9, 0.5]), [3.0, 1.0, 3.0, 5.0, 3.0]);
        // Ranks 1 2.5 2.5 4 against 1 2 3 4: deviations −1.5 0 0 1.5 and −1.5 −0.5 0.5 1.5.
        let found = Agreement::new(&some(&[0.0, 1.0, 1.0, 2.0]), &some(&[1.0, 2.0, 3.0, 4.0]));
        assert_close(found.spearman, 4.5 / (4.5f64 * 5.0).sqrt());
    }

    #[test]
    fn intervals_cover_the_correlation_of_the_population() {
        let mut random = straightedge_random::Random::new(5);
        for (rho, pairs) in [(0.0, 12), (0.6, 12), (0.6, 36)] {
            let mut covered = 0;
            for _ in 0..2000 {
                let a: Vec<f64> = (0..pairs).map(|_| random.normal()).collect();
                let b: Vec<f64> = a.iter().map(|a| rho * a + (1.0f64 - rho * rho).sqrt() * random.normal()).collect();
                let r = correlation(&a, &b).expect("a correlation");
                let [low, high] = correlation_interval(r, pairs).expect("an interval");
                covered += i32::from(low <= rho && rho <= high);
            }
            assert!((1860..=1940).contains(&covered), "{rho} in {covered} of 2000 intervals of {pairs} pairs");
        }
        assert_eq!(correlation_interval(0.5, 3), None);
        assert_eq!(correlation_interval(1.0, 9), Some([1.0, 1.0]));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let medians = [vec![3.0, 1.0, 2.0], vec![4.0, 1.0, 2.0, 3.0], vec![]].map(median);
        assert_eq!(medians, [Some(2.0), Some(2.5), None]);
    }

    #[test]
    fn what_is_constant_or_missing_has_no_correlation() {
        let constant = some(&[0.1, 0.1, 0.1]);
        let found = Agreement::new(&constant, &some(&[0.3, 0.1, 0.2]));
        assert_eq!((found.pearson, found.spearman), (None, None));
        assert_close(found.mean_shift, 0.1);

        let gaps = [Some(1.0), None, Some(3.0), Some(f64::NAN), Some(9.0)];
        let found = Agreement::new(&gaps, &some(&[2.0, 100.0, 5.0, 7.0]));
        assert_eq!(found.pairs, 2);
        assert_close(found.mean_shift, 1.5);
        assert_close(found.pearson, 1.0);

        assert_eq!(Agreement::new(&[], &[]), Agreement::default());
        assert_eq!(Agreement::new(&some(&[1.0]), &some(&[2.0])).pearson, None);
    }
}
