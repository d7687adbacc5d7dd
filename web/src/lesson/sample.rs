//! Synthetic numbers for the lesson's examples: seeded, from sums and shifts only, so bit-identical on every machine.

/// A stream of pseudo-random numbers: Steele, Lea and Flood's SplitMix64.
pub(super) struct Sample(u64);

impl Sample {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform between 0 and 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal, mean 0 and variance 1: the sum of twelve uniform values.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// `count` normal values.
    pub(super) fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator_and_spread_as_they_should() {
        let mut sample = Sample::new(1_234_567);
        // The first output for this seed in the reference implementation is 6457827717110365317.
        assert_eq!(sample.uniform(), (6_457_827_717_110_365_317_u64 >> 11) as f64 / (1_u64 << 53) as f64);
        let all = Sample::new(3).normals(20_000);
        let mean = all.iter().sum::<f64>() / 20_000.0;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
