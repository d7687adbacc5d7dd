//! Mutations: a valid input is changed at the level of its structure, as bytes, or both.

mod bytes;
mod draw;
mod json;
mod link;
mod pickle;
mod safetensors;
mod varints;
mod zip;

use straightedge_random::Random;

use self::draw::{SIGNS, pick};

/// The structure of a target's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, which another part may follow after a zero byte; what does not begin like JSON is taken as a text.
    Json,
    /// A protocol buffer where it is no text, else the same.
    JsonOrMessage,
    /// Length, JSON and data.
    Safetensors,
    /// Eight letters, then the same.
    State,
    /// A zip archive with a pickle.
    Torch,
    /// Pages, and a footer with its length.
    Parquet,
    /// A prefix, and bytes in base64.
    Fragment,
    /// Names and values, as in the query of an address.
    Query,
    /// Lines of words between tabs.
    Lines,
}

/// An input: one of the seeds, changed.
pub fn mutate(format: Format, seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let Some(seed) = pick(random, seeds) else { return Vec::new() };
    let mut input = seed.clone();
    let is_structural = random.below(5) > 0;
    if is_structural {
        input = match format {
            Format::JsonOrMessage if !is_text(&input) => varints::message(random, &input),
            Format::Json | Format::JsonOrMessage => json::mutate(random, &input),
            Format::Safetensors => safetensors::mutate(random, &input),
            Format::State => {
                let (letters, rest) = input.split_at(input.len().min(8));
                [letters, &safetensors::mutate(random, rest)].concat()
            }
            Format::Torch => zip::mutate(random, &input),
            Format::Parquet if random.below(2) == 0 => varints::parquet(random, &input),
            Format::Parquet => bytes::records(random, &input, seeds),
            Format::Fragment => link::fragment(random, &input),
            Format::Query => link::query(random, &input, seeds),
            Format::Lines => bytes::lines(random, &input, seeds),
        };
    }
    if !is_structural || random.below(8) == 0 {
        let signs = is_text(&input).then_some(SIGNS);
        bytes::mutate(random, &mut input, signs);
    }
    input
}

/// Whether these are texts, which zero bytes may part.
fn is_text(input: &[u8]) -> bool {
    str::from_utf8(input).is_ok_and(|text| text.chars().all(|c| !c.is_control() || "\0\t\n\r".contains(c)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::targets::all;

    #[test]
    fn an_input_follows_from_its_seed_and_few_are_the_same() {
        for target in all() {
            let seeds = (target.seeds)();
            let inputs = |seed| {
                let mut random = Random::new(seed);
                (0..200).map(|_| mutate(target.format, &seeds, &mut random)).collect::<Vec<_>>()
            };
            assert!(inputs(1) == inputs(1), "{}", target.name);
            let different: BTreeSet<_> = inputs(2).into_iter().collect();
            assert!(different.len() > 140, "{}: {} of 200", target.name, different.len());
        }
    }
}
