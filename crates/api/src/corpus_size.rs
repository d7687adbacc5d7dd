//! The size of a text or rows file under a protocol, known before anything is measured.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The size of a text or rows file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusSize {
    /// Tokens of the whole text, or rows of the file.
    pub tokens: u64,
    /// Rows that would be measured: whole windows, at most the requested number.
    pub rows: u64,
    /// Input width of the feed-forward networks.
    pub d_in: u64,
    /// Training rows among them.
    pub train_rows: u64,
    /// The error a measurement would return, if any.
    pub refusal: Option<Error>,
}

impl CorpusSize {
    /// Whether there are too few training rows for reliable maps: fewer than two per input.
    pub fn is_short(&self) -> bool {
        self.train_rows < 2 * self.d_in
    }
}
