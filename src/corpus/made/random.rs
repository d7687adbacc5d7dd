//! SplitMix64 (Steele, Lea, Flood 2014): the same choices on every machine and for ever.

/// A stream of choices.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// One of 0 … n − 1; n is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of first … last.
    pub(super) fn between(&mut self, first: u32, last: u32) -> u32 {
        first + (self.next() % u64::from(last - first + 1)) as u32
    }

    /// True once in n.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items; there is at least one.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// `count` different ones of 0 … n − 1 in random order, or all where there are fewer.
    pub(super) fn some_of(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }

    /// Puts `items` in random order (Fisher–Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }
}

/// SplitMix64's finaliser: every bit of the result depends on every bit of `bits`.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn choices_stay_in_range_and_all_come_up() {
        let mut random = Random::new(7);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.below(5)] = true);
        assert_eq!(seen, [true; 5]);
        assert!((0..200).all(|_| (3..=4).contains(&random.between(3, 4))));
        let mut order = random.some_of(40, 40);
        assert!(!order.is_sorted());
        order.sort();
        assert!(order.into_iter().eq(0..40));
    }
}
