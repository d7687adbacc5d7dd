//! Reproducible pseudo-random numbers, identical natively and in a browser.

/// A generator of reproducible pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    /// 64 random bits (xorshift).
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Uniform in (−1, 1).
    pub(crate) fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (2.0 * self.unit() - 1.0) as f32).collect()
    }
}
