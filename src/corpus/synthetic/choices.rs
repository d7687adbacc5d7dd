//! Random choices of words, sentences and things of the world.

use crate::platform::random::Random;

/// A reproducible stream of random choices.
#[derive(Clone, Debug)]
pub(super) struct Choices(Random);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// One of 0 … n − 1; n is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
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

    /// `count` distinct values of 0 … n − 1 in random order, or all n if there are fewer.
    pub(super) fn some_of(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }

    /// Puts `items` in random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

/// Mixes 64 bits: every output bit depends on every input bit.
pub(super) fn mix(bits: u64) -> u64 {
    Random::new(bits).bits()
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn choices_stay_in_range_and_all_come_up() {
        let mut random = Choices::new(7);
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
