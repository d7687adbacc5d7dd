//! A document as it grows, sentence by sentence, each on its side of the line between training and measurement.

use super::choices::{Choices, mix};

/// Passages shorter than this may occur in training and in measurement.
pub(super) const PASSAGE: usize = 64;

/// How often a sentence is worded anew before its document is given up.
const TRIES: usize = 60;

/// Which texts a document is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Measurement,
    Training,
}

impl Side {
    /// Whether a passage may occur on this side. A sentence or line of 64 bytes or more belongs to the side that the
    /// hashes of its first and of its last 64 bytes name, and to none where they disagree.
    pub(super) fn may_say(self, passage: &str) -> bool {
        let bytes = passage.as_bytes();
        bytes.len() < PASSAGE
            || [&bytes[..PASSAGE], &bytes[bytes.len() - PASSAGE..]].iter().all(|end| side(end) == self)
    }
}

/// The side of 64 bytes: FNV-1a, finished so that its top bit is as good as any.
fn side(bytes: &[u8]) -> Side {
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold));
    if hash >> 63 == 0 { Side::Measurement } else { Side::Training }
}

/// The document under way. Whatever adds to it returns `None` where no wording was found for this side, and the
/// document is then begun anew.
pub(super) struct Page {
    side: Side,
    pub(super) random: Choices,
    text: String,
    /// Where the current line begins.
    line: usize,
    /// Whether the line has a sentence that no line of the other side can have.
    settled: bool,
}

impl Page {
    pub(super) fn new(side: Side, random: Choices) -> Self {
        Self { side, random, text: String::new(), line: 0, settled: false }
    }

    /// A heading: formulaic, so that it may occur on both sides.
    pub(super) fn heading(&mut self, title: &str) {
        self.text += title;
        self.text += "\n\n";
        self.line = self.text.len();
    }

    /// Adds one sentence to the line, in the first wording that may be said here.
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

    /// Adds a line that may be written anew until all of it may be said here.
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
