//! Synthetic texts from a seed: a small world in three domains, of any length, the same on every machine.
//!
//! `tales` are stories about its people, `encyclopedia` states its facts, `puzzles` holds questions and arithmetic. The
//! world is the same for every seed, so that facts learned from one text occur in another; stories, sums and wordings
//! are drawn from the seed.
//!
//! **Training and measurement never share a text.** Seeds below [`FIRST_TRAINING_SEED`] are for measurement, the others
//! for training. In addition, a sentence of 64 bytes or more is reworded until the hashes of its first and of its last
//! 64 bytes both name the side of the seed; so is every puzzle, and every line without such a sentence. Hence, for any
//! seeds, no sentence or line of 64 bytes or more occurs on both sides, and none begins or ends with the same 64 bytes
//! as one of the other side. Headings and shorter sentences may occur on both, because facts are meant to recur; so may
//! 64 bytes from the middle of a sentence or across short ones.

mod brackets;
mod cast;
mod choices;
mod encyclopedia;
mod facts;
mod grammar;
mod page;
mod puzzles;
mod sums;
mod tales;
mod world;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use choices::{Choices, mix};
use page::{Page, Side};

/// Incremented whenever a seed's text changes.
pub const VERSION: u32 = 1;

/// Seeds from here on are for training, those below for measurement.
pub const FIRST_TRAINING_SEED: u64 = 1_000_000;

/// Bytes of text per requested token: more than any usual tokenizer needs.
const BYTES_PER_TOKEN: usize = 8;

/// Most bytes generated for a measurement.
const MOST_BYTES: usize = 256 << 20;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Stories.
    Tales,
    /// Articles.
    Encyclopedia,
    /// Sums, lists, brackets and questions.
    Puzzles,
}

impl Domain {
    /// All domains.
    pub const ALL: [Self; 3] = [Self::Tales, Self::Encyclopedia, Self::Puzzles];

    /// Its name in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tales => "tales",
            Self::Encyclopedia => "encyclopedia",
            Self::Puzzles => "puzzles",
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Names of the world's people.
pub fn people() -> Vec<&'static str> {
    world::PEOPLE.iter().map(|person| person.name).collect()
}

/// Names of the world's towns and villages.
pub fn places() -> Vec<&'static str> {
    world::PLACES.iter().map(|place| place.name).collect()
}

/// A synthetic text, by domain and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SyntheticText {
    /// The domain.
    pub domain: Domain,
    /// The seed.
    pub seed: u64,
}

impl SyntheticText {
    /// Reads `tales:7`, or `tales` for seed 0; `None` if the name before the colon is no domain.
    ///
    /// # Errors
    /// A seed that is not a number, or one for training.
    pub fn for_measurement(name: &str) -> Option<Result<Self>> {
        let (domain, seed) = name.split_once(':').map_or((name, None), |(domain, seed)| (domain, Some(seed)));
        let domain = Domain::ALL.into_iter().find(|known| known.name() == domain)?;
        Some(measurement_seed(seed.unwrap_or("0"), name).map(|seed| Self { domain, seed }))
    }

    /// Its documents, an endless sequence.
    pub fn documents(self) -> impl Iterator<Item = String> {
        (0..).map(move |index| self.document(index))
    }

    /// Whole documents of at least `bytes` bytes in total.
    pub fn text(self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes.saturating_add(4096));
        let mut documents = self.documents();
        while text.len() < bytes {
            text.extend(documents.next());
        }
        text
    }

    /// The text for a measurement of `rows` rows: 8 bytes per row, at most 256 MiB.
    pub fn text_for_rows(self, rows: usize) -> String {
        self.text(rows.saturating_mul(BYTES_PER_TOKEN).min(MOST_BYTES))
    }

    /// Document `index`, redrawn until every sentence has a wording for this side.
    fn document(self, index: u64) -> String {
        let side = if self.seed < FIRST_TRAINING_SEED { Side::Measurement } else { Side::Training };
        let domain = mix(self.domain as u64 + 1);
        let mut random = Choices::new(mix(mix(domain ^ self.seed).wrapping_add(index)));
        loop {
            let mut page = Page::new(side, Choices::new(random.next()));
            let done = match self.domain {
                Domain::Tales => tales::tale(&mut page),
                Domain::Encyclopedia => encyclopedia::article(&mut page),
                Domain::Puzzles => puzzles::sheet(&mut page),
            };
            if done.is_some() {
                return page.finish();
            }
        }
    }
}

impl fmt::Display for SyntheticText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.domain, self.seed)
    }
}

fn measurement_seed(seed: &str, name: &str) -> Result<u64> {
    let invalid = |hint: String| Error::InvalidSetting { field: "--corpus".into(), value: name.into(), hint };
    let seed =
        u64::from_str(seed).map_err(|_| invalid("give a whole number after the colon, such as tales:7".into()))?;
    if seed >= FIRST_TRAINING_SEED {
        return Err(invalid(format!("seeds from {FIRST_TRAINING_SEED} on are for training, give a smaller one")));
    }
    Ok(seed)
}
