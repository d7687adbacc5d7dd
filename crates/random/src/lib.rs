//! Seeded random numbers: SplitMix64 (Steele, Lea, Flood 2014), the same sequence on every machine and backend.
//!
//! Good enough to initialise weights and sample rows; not cryptographic. Normal numbers use the platform's ln, sin and
//! cos, so that they may differ between platforms in the last bit.

use std::f64::consts::TAU;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// The second number of the last pair of normal numbers.
    spare: Option<f64>,
}

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, spare: None }
    }

    /// An independent sequence for one purpose; `path` identifies it, such as a control, a block and a batch.
    pub fn stream(seed: u64, path: &[u64]) -> Self {
        // Each step jumps to a point of the generator's cycle that depends on all parts of the path so far.
        let state = path.iter().fold(Self::new(seed).bits(), |state, &part| Self::new(state ^ part).bits());
        Self::new(state)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform in 0 ≤ u < 1, a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in −1 ≤ u < 1.
    pub fn symmetric(&mut self) -> f64 {
        2.0 * self.uniform() - 1.0
    }

    /// Uniform in −1 ≤ u < 1, a multiple of 2⁻²³, so exact in f32.
    pub fn symmetric_f32(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// `count` numbers uniform between −1 and 1.
    pub fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.symmetric() as f32).collect()
    }

    /// Uniform over 0 … `bound` − 1; `bound` is at least 1 and far below 2⁶⁴, so the bias of the remainder is
    /// negligible.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// From N(0, 1), by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 − u is never 0.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// Nearly normal, of mean 0 and variance 1, the same on every machine to the last bit: the sum of twelve.
    pub fn nearly_normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Puts `items` in random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn uniform_numbers_fill_their_range() {
        let mut random = Random::new(7);
        let numbers: Vec<f64> = (0..10_000).map(|_| random.uniform()).collect();
        assert!(numbers.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.015, "five standard errors: {mean}");
        assert!((0..10_000).all(|_| (-1.0..1.0).contains(&random.symmetric_f32())));
        let mut counts = [0; 7];
        (0..7_000).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_distribution() {
        let mut random = Random::new(3);
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let moment = |power: i32| numbers.iter().map(|z| z.powi(power)).sum::<f64>() / f64::from(n);
        // Five standard errors each: √(1/n), √(2/n), √(15/n), √(96/n).
        let standard_error = |variance: f64| 5.0 * (variance / f64::from(n)).sqrt();
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let found = moment(power);
            assert!((found - expected).abs() < standard_error(variance), "moment {power}: {found}");
        }
        // The two numbers of a pair are uncorrelated.
        let products = numbers.chunks_exact(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / f64::from(n / 2);
        assert!(products.abs() < 5.0 * (2.0 / f64::from(n)).sqrt(), "{products}");
    }

    #[test]
    fn nearly_normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(3);
        let numbers: Vec<f64> = (0..20_000).map(|_| random.nearly_normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 2e4;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2e4;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn streams_differ_by_seed_and_by_every_part_of_their_path() {
        let first = |seed, path: &[u64]| Random::stream(seed, path).bits();
        let paths: [(u64, &[u64]); 6] = [(0, &[]), (0, &[0]), (0, &[1]), (0, &[0, 1]), (0, &[1, 0]), (1, &[0, 1])];
        let numbers = paths.map(|(seed, path)| first(seed, path));
        assert_eq!(numbers, paths.map(|(seed, path)| first(seed, path)), "reproducible");
        assert!((0..6).all(|i| (0..i).all(|j| numbers[i] != numbers[j])), "{numbers:?}");
    }

    #[test]
    fn a_shuffle_loses_nothing() {
        let mut items: Vec<_> = (0..100).collect();
        Random::new(7).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
