//! A parser as the fuzzer sees it: its inputs, its errors, and what an execution may take.

use std::time::Duration;

use straightedge_api::error::Error;

use crate::mutate::Format;

/// A refusal: the kind of an error, and its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error's code.
    pub kind: String,
    /// What the user reads.
    pub sentence: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { kind: error.code(), sentence: error.sentence() }
    }
}

/// Characters of the longest sentence.
const SENTENCE: usize = 1200;

/// Whether a text that a user reads says something, is not too long, and has no character that changes how it is shown.
pub fn is_sentence(text: &str) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= SENTENCE
        && !text.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// A parser.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line and in the project's folders.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// How its inputs are mutated.
    pub format: Format,
    /// Valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input and uses everything it holds.
    pub run: fn(&[u8]) -> Result<(), Refusal>,
    /// The kinds of errors that a reader of the input may meet.
    pub errors: &'static [&'static str],
    /// What an execution may take.
    pub limits: Limits,
}

/// What an execution may take: a base, and a share for every byte of its input.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Milliseconds, and microseconds per byte.
    pub time: (u64, u64),
    /// Bytes, and bytes per byte.
    pub memory: (usize, usize),
}

impl Limits {
    /// Most time for an input.
    pub fn time_for(self, input: &[u8]) -> Duration {
        Duration::from_millis(self.time.0) + Duration::from_micros(self.time.1 * input.len() as u64)
    }

    /// Most bytes of memory for an input.
    pub fn memory_for(self, input: &[u8]) -> usize {
        self.memory.0 + self.memory.1 * input.len()
    }
}
