//! Builds a document sentence by sentence, each on its side of the split into training and measurement.

use super::choices::{Choices, mix};

/// Passages shorter than this may occur in training and in measurement.
pub(super) const PASSAGE: usize = 64;

/// Rewordings of a sentence before its document is abandoned.
const TRIES: usize = 60;

/// The side of the split a document belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Measurement,
    Training,
}

impl Side {
    /// Whether a passage may occur on this side. A sentence or line of 64 bytes or more belongs to the side named by
    /// the hashes of its first and of its last 64 bytes, and to neither if they disagree.
    pub(super) fn may_say(self, passage: &str) -> bool {
        let bytes = passage.as_bytes();
        bytes.len() < PASSAGE
            || [&bytes[..PASSAGE], &bytes[bytes.len() - PASSAGE..]].iter().all(|end| side(end) == self)
    }
}

/// The side of 64 bytes: FNV-1a with a finaliser, so that the top bit is well mixed.
fn side(bytes: &[u8]) -> Side {
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold));
    if hash >> 63 == 0 { Side::Measurement } else { Side::Training }
}

/// The document in progress. Methods return `None` if no wording fits this side; the document is then started anew.
pub(super) struct Page {
    side: Side,
    pub(super) random: Choices,
    text: String,
    /// Start of the current line.
    line: usize,
    /// Whether the line has a sentence that cannot occur on the other side.
    settled: bool,
}

impl Page {
    pub(super) fn new(side: Side, random: Choices) -> Self {
        Self { side, random, text: String::new(), line: 0, settled: false }
    }

    /// Adds a heading; it is formulaic and may occur on both sides.
    pub(super) fn heading(&mut self, title: &str) {
        self.text += title;
        self.text += "\n\n";
        self.line = self.text.len();
    }

    /// Adds one sentence to the line, in the first wording allowed on this side.
    pub(super) fn say(&mut self, mut word: impl FnMut(&mut Choices) -> String) -> Option<()> {
        let random = &mut self.random;
        let side = self.side;
        let sentence = (0..TRIES).map(|_| word(random)).find(|sentence| side.may_say(sentence))?;
        if self.text.len() > self.line {
            self.text.push(' ');
        }
        self.text += &sentence;
        self.settled |= sentence.len() >= PASSAGE;
        Some(())
    }

    /// Adds a line, rewritten until all of it is allowed on this side.
    pub(super) fn line(&mut self, write: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        (0..TRIES).find_map(|_| {
            let written = write(self).filter(|()| self.side.may_say(&self.text[self.line..]));
            if written.is_none() {
                self.text.truncate(self.line);
                self.settled = false;
            }
            written
        })?;
        self.end_line()
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) -> Option<()> {
        if !self.settled && !self.side.may_say(&self.text[self.line..]) {
            return None;
        }
        if self.text.len() > self.line {
            self.text.push('\n');
        }
        (self.line, self.settled) = (self.text.len(), false);
        Some(())
    }

    /// The finished document, with an empty line after it.
    pub(super) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}
