//! Confidence intervals by resampling windows, and the influence of each window: rows of one window depend on each
//! other, windows less, which widens the intervals (docs/measures.md, section 2).

use std::f64::consts::FRAC_1_SQRT_2;

use crate::paired::{autocorrelation_factor, t_quantile};
use crate::platform::parallel;
use crate::platform::random::Random;
use crate::report::{INFLUENCE_DIGITS, Interval, Uncertainty, finite, rounded};

/// Resamples per interval.
const RESAMPLES: usize = 2000;
/// Fewest windows with an interval.
pub const FEWEST_WINDOWS: usize = 10;
/// Most units that are drawn; more windows than these are joined with their neighbours.
const MOST_UNITS: usize = 512;
/// Most influences of a statistic; more windows than these are joined with their neighbours.
const MOST_INFLUENCES: usize = 64;
/// Separates the random stream of the resamples from others of the same seed.
const STREAM: u64 = u64::from_be_bytes(*b"windows ");

/// Numbers of times that every unit, a window or some neighbouring ones, occurs in each resample.
///
/// A resample has one unit less than there are: the variance of its mean is then that of the mean of all units.
#[derive(Clone, Debug)]
pub struct Resamples {
    windows: usize,
    /// Windows of a unit.
    joined: usize,
    counts: Vec<u16>,
}

impl Resamples {
    /// Draws them for `windows` windows; none if those are too few.
    pub fn new(windows: usize, seed: u64) -> Self {
        let resamples = if windows < FEWEST_WINDOWS { 0 } else { RESAMPLES };
        let joined = windows.div_ceil(MOST_UNITS).max(1);
        let units = windows.div_ceil(joined);
        let mut random = Random::stream(seed, &[STREAM]);
        let mut counts = vec![0; resamples * units];
        for counts in counts.chunks_exact_mut(units.max(1)) {
            (1..units).for_each(|_| counts[random.below(units)] += 1);
        }
        Self { windows, joined, counts }
    }

    /// The interval of a statistic and the influence of each window on it, if both are defined; the parameters are those
    /// of [`Self::interval`].
    pub fn uncertainty<const N: usize>(
        &self,
        sums: [&[f64]; N],
        statistic: fn([f64; N]) -> f64,
    ) -> Option<Uncertainty> {
        self.interval(sums, statistic).zip(influence(sums, statistic))
    }

    /// The interval of a statistic of sums over windows. `statistic` gets the sum of each list, which has one value
    /// per window; the result is `None` if it is not finite in some resample.
    pub fn interval<const N: usize>(&self, sums: [&[f64]; N], statistic: impl Fn([f64; N]) -> f64) -> Option<Interval> {
        if sums.iter().any(|sums| sums.len() != self.windows) {
            return None;
        }
        let sums = joined(sums, self.joined);
        let weight = self.weight(autocorrelation_factor(&jackknife(&sums, &statistic)?));
        let sum = |counts: &[u16], values: &[f64]| -> f64 {
            counts.iter().zip(values).map(|(count, value)| weight(count) * value).sum()
        };
        let of = |counts: &[u16]| finite(statistic(std::array::from_fn(|at| sum(counts, &sums[at]))));
        self.quantiles(self.each().into_iter().map(of).collect::<Option<_>>()?)
    }

    /// The interval of the smallest rank that keeps a `share` of R² (docs/measures.md, section 3). The arguments are,
    /// for every window, Σ‖y − ŷ‖², Σ‖y − ȳ_h‖², and the error that each direction of ŷ removes (row-major, windows ×
    /// directions). `None` if R² is not positive in some resample.
    pub fn effective_rank(&self, [errors, totals, gains]: [&[f64]; 3], share: f64) -> Option<Interval> {
        let ranks = gains.len() / self.windows.max(1);
        if ranks == 0 || [errors.len(), totals.len(), gains.len() / ranks] != [self.windows; 3] {
            return None;
        }
        let sums @ [errors, totals] = &joined([errors, totals], self.joined);
        // The rank moves in steps; R² shows how alike neighbours are.
        let r2 = |[errors, totals]: [f64; 2]| 1.0 - errors / totals;
        let weight = self.weight(autocorrelation_factor(&jackknife(sums, r2)?));
        let units: Vec<Vec<f64>> = gains.chunks(ranks * self.joined).map(|unit| column_sums(unit, ranks)).collect();
        let rank = |counts: &&[u16]| {
            let mut left = vec![0.0; ranks];
            let (mut error, mut total) = (0.0, 0.0);
            for (at, count) in counts.iter().enumerate() {
                let weight = weight(count);
                error += weight * errors[at];
                total += weight * totals[at];
                left.iter_mut().zip(&units[at]).for_each(|(sum, gain)| *sum += weight * gain);
            }
            // The map of rank k leaves the gains of all further directions.
            let mut beyond: f64 = finite(left.iter().sum())?;
            let most = (1.0 - share) * finite(total - error).filter(|explained| *explained > 0.0)?;
            let keeps = |gain: &f64| {
                beyond -= gain;
                beyond <= most
            };
            Some((1 + left.iter().position(keeps)?) as f64)
        };
        self.quantiles(parallel::map(&self.each(), rank).into_iter().collect::<Option<_>>()?)
    }

    /// Of each resample the number of times that every unit occurs.
    fn each(&self) -> Vec<&[u16]> {
        self.counts.chunks_exact(self.units().max(1)).collect()
    }

    /// The weight of a unit by the number of times that it occurs: as far from the mean weight as `factor` says.
    fn weight(&self, factor: f64) -> impl Fn(&u16) -> f64 {
        let mean = 1.0 - 1.0 / self.units() as f64;
        move |count| mean + factor * (f64::from(*count) - mean)
    }

    fn units(&self) -> usize {
        self.windows.div_ceil(self.joined)
    }

    /// The interval between the quantiles of a statistic over the resamples; `None` if there are none.
    fn quantiles(&self, mut values: Vec<f64>) -> Option<Interval> {
        values.sort_by(f64::total_cmp);
        let beyond = (values.len() as f64 * tail(self.units())) as usize;
        Some(Interval { low: *values.get(beyond)?, high: *values.iter().rev().nth(beyond)? })
    }
}

/// Share of resamples on either side of a 95 % interval. Quantiles at 2.5 % would be too narrow for few units: as a
/// normal distribution would where Student's t belongs. They lie where the normal distribution has the 97.5 % quantile
/// of Student's t (T. Hesterberg, What teachers should know about the bootstrap, 2015: expanded percentiles).
fn tail(units: usize) -> f64 {
    0.5 * libm::erfc(t_quantile(units as f64 - 1.0) * FRAC_1_SQRT_2)
}

/// The influence of each window, or of some neighbouring ones, on a statistic; `None` if one is not finite.
fn influence<const N: usize>(sums: [&[f64]; N], statistic: impl Fn([f64; N]) -> f64) -> Option<Vec<f64>> {
    let windows = sums.first().map_or(0, |sums| sums.len());
    let influence = jackknife(&joined(sums, windows.div_ceil(MOST_INFLUENCES).max(1)), statistic)?;
    Some(influence.into_iter().map(|value| rounded(value, INFLUENCE_DIGITS)).collect())
}

/// The influence of each of U units on a statistic: (U − 1) times the statistic of all of them minus that without the
/// unit. `None` if one is not finite.
fn jackknife<const N: usize>(units: &[Vec<f64>; N], statistic: impl Fn([f64; N]) -> f64) -> Option<Vec<f64>> {
    let totals: [f64; N] = std::array::from_fn(|list| units[list].iter().sum());
    let (count, all) = (units.first().map_or(0, Vec::len), statistic(totals));
    let without = |unit: usize| statistic(std::array::from_fn(|list| totals[list] - units[list][unit]));
    (0..count).map(|unit| finite((count as f64 - 1.0) * (all - without(unit)))).collect()
}

/// Sums over the rows of a row-major matrix.
fn column_sums(rows: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Sums over so many neighbouring windows.
fn joined<const N: usize>(sums: [&[f64]; N], windows: usize) -> [Vec<f64>; N] {
    sums.map(|sums| sums.chunks(windows).map(|unit| unit.iter().sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::{MeasuredValue, PairedDifference};

    /// Share of intervals that hold the true value, over repetitions of `draw`, which returns sums by window.
    fn coverage<const N: usize>(
        windows: usize,
        truth: f64,
        statistic: impl Fn([f64; N]) -> f64,
        mut draw: impl FnMut(&mut Random) -> [f64; N],
    ) -> f64 {
        const REPETITIONS: usize = 4_000;
        let resamples = Resamples::new(windows, 7);
        let mut random = Random::new(5);
        let held = (0..REPETITIONS).filter(|_| {
            let mut sums: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
            for _ in 0..windows {
                sums.iter_mut().zip(draw(&mut random)).for_each(|(sums, value)| sums.push(value));
            }
            let lists = std::array::from_fn(|at| &sums[at][..]);
            let found = resamples.interval(lists, &statistic).expect("an interval");
            (found.low..=found.high).contains(&truth)
        });
        held.count() as f64 / REPETITIONS as f64
    }

    /// How rows depend on each other.
    #[derive(Clone, Copy)]
    struct Dependence {
        /// Share of the variance of every quantity that is common to all rows of a window.
        shared: f64,
        /// Correlation of that with the same of the window before.
        neighbours: f64,
    }

    /// Draws sums over the rows of one window after another.
    fn windows_of<const N: usize, const Q: usize>(
        Dependence { shared, neighbours }: Dependence,
        sums: impl Fn([f64; Q]) -> [f64; N],
    ) -> impl FnMut(&mut Random) -> [f64; N] {
        const ROWS: usize = 16;
        let (own, common) = ((1.0 - shared).sqrt(), shared.sqrt());
        let mut of_window = [0.0; Q];
        move |random| {
            let mut normal = || -> [f64; Q] { std::array::from_fn(|_| random.normal()) };
            let new = normal();
            of_window =
                std::array::from_fn(|at| neighbours * of_window[at] + (1.0 - neighbours * neighbours).sqrt() * new[at]);
            let mut found = [0.0; N];
            for _ in 0..ROWS {
                let of_row = normal();
                let values = std::array::from_fn(|at| own * of_row[at] + common * of_window[at]);
                found.iter_mut().zip(sums(values)).for_each(|(found, value)| *found += value);
            }
            found
        }
    }

    /// Coverage of R², of a probe's gain, of the cosine and of a change of perplexity. y = x + p + q has variances 1,
    /// 1/4 and 1/4; the map explains x, and the probe p too.
    fn simulated(windows: usize, rows: Dependence) -> [f64; 4] {
        let half = |value: f64| value / 2.0;
        let r2 = |[x, p, q]: [f64; 3]| [(half(p) + half(q)).powi(2), (x + half(p) + half(q)).powi(2)];
        let gain =
            |[x, p, q]: [f64; 3]| [(half(p) + half(q)).powi(2), half(q).powi(2), (x + half(p) + half(q)).powi(2)];
        let cosine = |[c]: [f64; 1]| [0.8 + 0.1 * c, 1.0];
        let losses = |[base, change]: [f64; 2]| [3.0 + base, 3.02 + base + 0.05 * change, 1.0];
        // A perplexity is exp of the mean loss.
        let delta_ppl = 3.02f64.exp() - 3f64.exp();
        let changed = |[base, other, n]: [f64; 3]| (other / n).exp() - (base / n).exp();
        [
            coverage(windows, 2.0 / 3.0, |[e, t]| 1.0 - e / t, windows_of(rows, r2)),
            coverage(windows, 1.0 / 6.0, |[e, r, t]| (e - r) / t, windows_of(rows, gain)),
            coverage(windows, 0.8, |[c, n]| c / n, windows_of(rows, cosine)),
            coverage(windows, delta_ppl, changed, windows_of(rows, losses)),
        ]
    }

    #[test]
    fn intervals_hold_the_true_value_in_95_of_100_cases_as_the_document_says() {
        let document = include_str!("../../docs/measures.md");
        let mut missing = String::new();
        let cases = [(0.0, 0.0, 0.93), (0.3, 0.0, 0.93), (0.3, 0.3, 0.92), (0.3, 0.5, 0.88)];
        for (windows, (shared, neighbours, least)) in
            [24, 60].into_iter().flat_map(|windows| cases.map(|of| (windows, of)))
        {
            let found = simulated(windows, Dependence { shared, neighbours });
            let cells = found.map(|held| format!("{:.1} %", 100.0 * held)).join(" | ");
            let row = format!("| {windows} | {shared} | {neighbours} | {cells} |");
            assert!(found.iter().all(|held| (least..=0.97).contains(held)), "{row}");
            if !document.contains(&row) {
                missing += &(row + "\n");
            }
        }
        assert!(missing.is_empty(), "docs/measures.md lacks:\n{missing}");
    }

    #[test]
    fn few_windows_have_no_interval_and_a_seed_always_gives_the_same() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let of = |windows: usize, seed| Resamples::new(windows, seed).interval([&values[..windows]], |[sum]| sum);
        assert_eq!(of(FEWEST_WINDOWS - 1, 0), None);
        assert!(of(FEWEST_WINDOWS, 0).is_some() && of(12, 0) == of(12, 0) && of(12, 0) != of(12, 1));
        let all = Resamples::new(12, 0);
        assert_eq!(all.interval([&values[1..]], |[sum]| sum), None, "another number of windows");
        assert_eq!(all.interval([&values[..]], |[sum]| 1.0 / (sum - sum)), None, "no number");
        let many = Resamples::new(1300, 0);
        assert_eq!((many.joined, many.counts.len()), (3, RESAMPLES * 434));
        let same = many.interval([&[2.0; 1300], &[1.0; 1300]], |[sum, count]| sum / count);
        assert_eq!(same, Some(Interval { low: 2.0, high: 2.0 }));
        assert!(all.counts.chunks(12).all(|counts| counts.iter().sum::<u16>() == 11));
    }

    #[test]
    fn influences_are_of_each_window_alone_and_add_up_to_nothing() {
        let (sums, counts) = ([1.0, 2.0, 6.0, 7.0], [1.0; 4]);
        let mean = |[sum, count]: [f64; 2]| sum / count;
        // For a mean they are the deviations from it.
        assert_eq!(influence([&sums, &counts], mean), Some(vec![-3.0, -2.0, 2.0, 3.0]));
        assert_eq!(influence([&[1.0], &[1.0]], mean), None, "no other window");
        let many: Vec<f64> = (0..130).map(f64::from).collect();
        let found = influence([&many, &[1.0; 130]], mean).expect("influences");
        assert_eq!(found.len(), 44, "three windows each");
        assert!((found[0] + 63.5 * 43.0 / 42.3).abs() < 2.0 && found.iter().sum::<f64>().abs() < 10.0, "{found:?}");
    }

    #[test]
    fn the_interval_of_the_effective_rank_follows_the_gains_of_the_windows() {
        let windows = 20;
        let resamples = Resamples::new(windows, 3);
        // R² is 0.8 everywhere. Directions take away 10, 4, 1.5 and 0.5 of 16 in every window: 2 keep 14, 3 keep 15.5.
        let (errors, totals) = (vec![4.0; windows], vec![20.0; windows]);
        let same = [10.0, 4.0, 1.5, 0.5].repeat(windows);
        let of = |gains: &[f64], share| resamples.effective_rank([&errors, &totals, gains], share);
        assert_eq!(of(&same, 0.9), Some(Interval { low: 3.0, high: 3.0 }));
        assert_eq!(of(&same, 0.8), Some(Interval { low: 2.0, high: 2.0 }));
        // With two directions every other window keeps 13.8, the rest 15.5: 14.4 and more in most resamples.
        let varied = [[10.0, 3.8, 1.7, 0.5], [10.0, 5.5, 0.0, 0.5]].concat().repeat(windows / 2);
        assert_eq!(of(&varied, 0.9), Some(Interval { low: 2.0, high: 3.0 }));
        assert_eq!(of(&same[4..], 0.9), None, "a window less");
        assert_eq!(resamples.effective_rank([&totals, &totals, &same], 0.9), None, "nothing is explained");
        // Five windows in a unit are the same windows.
        let many = Resamples::new(2000, 3);
        let lists = [vec![4.0; 2000], vec![20.0; 2000], [10.0, 4.0, 1.5, 0.5].repeat(2000)];
        let found = many.effective_rank(lists.each_ref().map(Vec::as_slice), 0.9);
        assert_eq!(found, Some(Interval { low: 3.0, high: 3.0 }));
    }

    /// Share of repetitions in which R² of two maps on the same windows is called different. The second leaves an error
    /// of `gap` more variance; the errors of both are mostly the same.
    fn called_different(windows: usize, gap: f64) -> f64 {
        const REPETITIONS: usize = 4_000;
        let mut random = Random::new(11);
        let r2 = |[errors, totals]: [f64; 2]| 1.0 - errors / totals;
        let called = (0..REPETITIONS).filter(|_| {
            let mut lists = [const { Vec::new() }; 3];
            for _ in 0..windows {
                let (mut sums, common) = ([0.0; 3], random.normal());
                for _ in 0..64 {
                    let [x, shared, own_a, own_b] = std::array::from_fn(|_| random.normal());
                    let shared = 0.8 * shared + 0.6 * common;
                    let a = 0.5f64.sqrt() * (0.995f64.sqrt() * shared + 0.005f64.sqrt() * own_a);
                    let b = (0.5 + gap).sqrt() * (0.995f64.sqrt() * shared + 0.005f64.sqrt() * own_b);
                    let y = x + shared;
                    sums.iter_mut().zip([a * a, b * b, y * y]).for_each(|(sum, value)| *sum += value);
                }
                lists.iter_mut().zip(sums).for_each(|(list, sum)| list.push(sum));
            }
            let [a, b, total] = &lists;
            let estimates = [a, b].map(|errors| {
                let sums = [&errors[..], &total[..]];
                let value = r2(sums.map(|sums| sums.iter().sum()));
                (value, influence(sums, r2).expect("influences"))
            });
            let [a, b] = estimates.each_ref().map(|(value, influence)| MeasuredValue { value: *value, influence });
            PairedDifference::new(a, b).expect("a difference").differs()
        });
        called.count() as f64 / REPETITIONS as f64
    }

    #[test]
    fn a_planted_difference_of_a_hundredth_is_found_and_one_of_a_half_thousandth_is_not_called() {
        // Σ of variances is 2, so a gap of 0.02 in the error's variance is 0.01 in R².
        let found = [0.02, 0.001, 0.0].map(|gap| called_different(24, gap));
        println!("{found:?}");
        assert!(found[0] > 0.99, "{found:?}");
        assert!(found[1] < 0.15, "{found:?}");
        assert!((0.03..=0.07).contains(&found[2]), "no difference is called one in 5 % of all cases: {found:?}");
    }
}
