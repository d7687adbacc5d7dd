//! Mutations: a valid input is changed at the level of its structure, as bytes, or both.

mod bytes;
mod draw;
mod json;
mod link;
mod pickle;
mod safetensors;
mod zip;

use straightedge_random::Random;

use self::draw::{SIGNS, pick};

/// The structure of a target's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, which another part may follow after a zero byte; what does not begin like JSON is taken as bytes.
    Json,
    /// Length, JSON and data.
    Safetensors,
    /// A zip archive with a pickle.
    Torch,
    /// A prefix, and bytes in base64.
    Fragment,
    /// Names and values, as in the query of an address.
    Query,
    /// Lines of words between tabs.
    Lines,
    /// Anything else.
    Bytes,
}

/// An input: one of the seeds, changed.
pub fn mutate(format: Format, seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let Some(seed) = pick(random, seeds) else { return Vec::new() };
    let mut input = seed.clone();
    let is_structural = random.below(5) > 0;
    if is_structural {
        input = match format {
            Format::Json => json::mutate(random, &input),
            Format::Safetensors => safetensors::mutate(random, &input),
            Format::Torch => zip::mutate(random, &input),
            Format::Fragment => link::fragment(random, &input),
            Format::Query => link::query(random, &input, seeds),
            Format::Lines => bytes::lines(random, &input, seeds),
            Format::Bytes => bytes::records(random, &input, seeds),
        };
    }
    if !is_structural || random.below(8) == 0 {
        let is_text = !matches!(format, Format::Safetensors | Format::Torch | Format::Bytes);
        bytes::mutate(random, &mut input, is_text.then_some(SIGNS));
    }
    input
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
            assert!(different.len() > 150, "{}: {} of 200", target.name, different.len());
        }
    }
}
