//! Chooses byte ranges to request: few enough for a shared address, without fetching much that is not needed.

use std::collections::BTreeMap;
use std::ops::Range;

/// Most ranges of a model's weights; the headers, two small requests per file, come on top.
pub const MAX_RANGES: usize = 18;

/// Most ranges of a group of tensors read together, such as a block: masks between them may be skipped.
pub const MAX_RANGES_OF_GROUP: usize = 2;

/// A gap up to this many bytes is fetched too: it costs less than a request.
const SMALL_GAP: u64 = 128 << 10;

/// Byte ranges of one file: ascending, not empty, apart from each other.
pub type Ranges = Vec<Range<u64>>;

/// Sorts ranges and joins those that touch or overlap.
pub fn normal(mut ranges: Ranges) -> Ranges {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Ranges = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The parts of `requested` that are not in `held`; both must be normal.
pub fn missing(requested: &[Range<u64>], held: &[Range<u64>]) -> Ranges {
    let mut missing = Vec::new();
    for range in requested {
        let mut start = range.start;
        for held in held.iter().filter(|held| held.start < range.end && held.end > range.start) {
            if held.start > start {
                missing.push(start..held.start);
            }
            start = start.max(held.end);
        }
        if start < range.end {
            missing.push(start..range.end);
        }
    }
    missing
}

/// Total bytes of ranges.
pub fn len(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Ranges that cover `needed`: closes small gaps, then the smallest remaining ones until at most `most` ranges, or one
/// per file, are left.
pub fn coalesce(needed: BTreeMap<String, Ranges>, most: usize) -> BTreeMap<String, Ranges> {
    let needed: BTreeMap<String, Ranges> =
        needed.into_iter().map(|(file, ranges)| (file, close(normal(ranges), SMALL_GAP))).collect();
    let count: usize = needed.values().map(Vec::len).sum();
    let mut gaps: Vec<u64> = needed.values().flat_map(|ranges| ranges.windows(2).map(gap)).collect();
    gaps.sort_unstable();
    match count.saturating_sub(most).min(gaps.len()) {
        0 => needed,
        surplus => needed.into_iter().map(|(file, ranges)| (file, close(ranges, gaps[surplus - 1]))).collect(),
    }
}

fn gap(pair: &[Range<u64>]) -> u64 {
    pair[1].start - pair[0].end
}

/// Joins neighbours that are at most `largest` apart.
fn close(ranges: Ranges, largest: u64) -> Ranges {
    let mut closed: Ranges = Vec::with_capacity(ranges.len());
    for range in ranges {
        match closed.last_mut() {
            Some(last) if range.start - last.end <= largest => last.end = range.end,
            _ => closed.push(range),
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    #[test]
    fn ranges_are_ordered_joined_and_subtracted() {
        assert_eq!(normal(vec![5..9, 0..3, 3..4, 8..12, 20..20]), [0..4, 5..12]);
        assert_eq!(missing(&[0..10, 20..30], &[2..4, 8..22, 29..40]), [0..2, 4..8, 22..29]);
        assert_eq!(missing(&[0..10], &[]), [0..10]);
        assert!(missing(&[3..7], &[0..10]).is_empty());
        assert_eq!(len(&[0..4, 6..7]), 5);
    }

    #[test]
    fn masks_are_left_out_and_small_gaps_fetched_along() {
        // Twelve blocks of 28 MiB behind masks of 4 MiB, as GPT-2 has them, with a byte or two between tensors.
        let block = |i: u64| (32 * i + 4) * M..32 * (i + 1) * M;
        let tensors = (0..12).flat_map(|i| {
            let whole = block(i);
            [whole.start..whole.start + 7 * M, whole.start + 7 * M + 2..whole.end]
        });
        let planned = coalesce([("w".to_owned(), tensors.collect())].into(), MAX_RANGES);
        assert_eq!(planned["w"], (0..12).map(block).collect::<Ranges>());
    }

    #[test]
    fn the_smallest_gaps_give_way_to_the_limit() {
        let many = |count: u64, gap: u64| (0..count).map(|i| i * 10 * M..i * 10 * M + 10 * M - gap).collect::<Ranges>();
        let needed = [("a".to_owned(), many(10, M)), ("b".to_owned(), many(10, 2 * M))];
        let planned = coalesce(needed.clone().into(), 12);
        assert_eq!((planned["a"].len(), planned["b"].len()), (1, 10));
        let planned = coalesce(needed.clone().into(), 1);
        assert_eq!((planned["a"].len(), planned["b"].len()), (1, 1), "a file takes one request at least");
        for (file, ranges) in needed {
            assert!(missing(&ranges, &planned[&file]).is_empty());
        }
    }
}
