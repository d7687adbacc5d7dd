//! What a profile shows, in one or two plain sentences.

use std::collections::BTreeSet;

use crate::chart::profile::{Point, Profile};
use crate::text::fill;
use crate::text::format::{fixed, spans};
use crate::text::language::plural;
use crate::text::verdict::t;

/// From this R² on a block is more than half linear.
const HALF: f64 = 0.5;
/// Digits after the decimal point.
const DIGITS: usize = 2;

/// The finding of a profile, or of its overlay where nothing else is shown; `None` without any value. While it is
/// measured, it says that it is provisional.
pub fn verdict(profile: &Profile, is_running: bool) -> Option<String> {
    let overlay = || {
        let point =
            |(block, value): (usize, &Option<f64>)| Some(Point { block, value: Some((*value)?), ..Point::default() });
        profile.overlay.iter().enumerate().filter_map(point).collect()
    };
    let points: Vec<Point> = if profile.points.is_empty() && !is_running { overlay() } else { profile.points.clone() };
    let verdict = of_points(&points)?;
    if !is_running || points.len() >= profile.blocks {
        return Some(verdict);
    }
    let gaps = [("done", &*points.len().to_string()), ("all", &profile.blocks.to_string()), ("verdict", &verdict)];
    Some(fill(t().so_far, &gaps))
}

fn of_points(points: &[Point]) -> Option<String> {
    let known: Vec<(usize, f64)> = points.iter().filter_map(|point| Some((point.block, point.value?))).collect();
    let least = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // Of equal blocks the first one is named.
    let most = known.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let [low, high] = [least.1, most.1].map(|value| fixed(Some(value), DIGITS));
    if let [(block, value)] = known[..] {
        let sentence = if value > HALF { t().single_more } else { t().single_less };
        return Some(fill(sentence, &[("block", &block.to_string()), ("value", &low)]) + &undefined(points));
    }
    let ends = if low == high { t().same } else { t().ends };
    let gaps = [("least", &*least.0.to_string()), ("low", &low), ("most", &most.0.to_string()), ("high", &high)];
    let count = known.iter().filter(|(_, value)| *value > HALF).count();
    Some(counted(count, known.len()) + &fill(ends, &gaps) + &undefined(points))
}

/// How many of all blocks are more than half linear.
fn counted(count: usize, all: usize) -> String {
    let sentence = match count {
        0 => t().none,
        2 if all == 2 => t().both,
        count if count == all => t().all,
        1 => t().one,
        _ => t().some,
    };
    let count = word(count);
    let mut letters = count.chars();
    let count = letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    fill(sentence, &[("count", &count), ("all", &word(all))])
}

/// Small numbers in words.
fn word(number: usize) -> String {
    t().numbers.split(' ').nth(number).map_or_else(|| number.to_string(), String::from)
}

fn undefined(points: &[Point]) -> String {
    let blocks: BTreeSet<usize> =
        points.iter().filter(|point| point.value.is_none()).map(|point| point.block).collect();
    if blocks.is_empty() {
        return String::new();
    }
    let names = plural(blocks.len(), t().undefined_one, t().undefined_many);
    fill(t().undefined, &[("blocks", &fill(names, &[("blocks", &spans(&blocks))]))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(values: &[Option<f64>]) -> Profile {
        let point = |(block, value): (usize, &Option<f64>)| Point { block, value: *value, ..Point::default() };
        Profile { blocks: values.len(), points: values.iter().enumerate().map(point).collect(), ..Profile::default() }
    }

    fn sentence(values: &[f64]) -> String {
        verdict(&profile(&values.iter().copied().map(Some).collect::<Vec<_>>()), false).unwrap()
    }

    #[test]
    fn a_profile_is_said_in_plain_words() {
        assert_eq!(
            sentence(&[0.97, 0.41, 0.6, 0.7, 0.5, 0.8]),
            "Four of six blocks are more than half linear; block 1 is the least linear (0.41) and block 0 the most (0.97)."
        );
        assert!(sentence(&[0.9, 0.1, 0.2]).starts_with("One of three blocks is more than half linear; block 1"));
        assert!(sentence(&[0.9, 0.8, 0.7]).starts_with("All three blocks are more than half linear; block 2"));
        assert!(sentence(&[0.9, 0.8]).starts_with("Both blocks are"));
        assert!(
            sentence(&[0.1, -0.2])
                .starts_with("None of the two blocks is more than half linear; block 1 is the least linear (−0.20)")
        );
        assert!(sentence(&[0.7; 13]).starts_with("All 13 blocks are more than half linear; each has an R² of 0.70."));
        assert_eq!(sentence(&[0.5]), "Block 0 is less than half linear (R² 0.50).");
    }

    #[test]
    fn what_has_no_value_is_named_and_what_is_not_over_is_provisional() {
        let gap = profile(&[Some(0.9), None, Some(0.2)]);
        let end = "R² is undefined for block 1.";
        assert!(verdict(&gap, false).unwrap().ends_with(end), "{gap:?}");
        let started = Profile { blocks: 6, ..profile(&[Some(0.9)]) };
        let so_far = verdict(&started, true).unwrap();
        assert_eq!(so_far, "So far, 1 of 6 blocks: Block 0 is more than half linear (R² 0.90).");
        assert_eq!(verdict(&started, false).unwrap(), "Block 0 is more than half linear (R² 0.90).");
        assert_eq!(verdict(&profile(&[None, None]), false), None);
        assert_eq!(verdict(&Profile::default(), true), None);
    }

    #[test]
    fn published_values_alone_have_a_finding_but_not_while_something_is_measured() {
        let published = Profile { blocks: 3, overlay: vec![Some(0.9), None, Some(0.8)], ..Profile::default() };
        assert!(verdict(&published, false).unwrap().starts_with("Both blocks"));
        assert_eq!(verdict(&published, true), None);
    }
}
