//! How far a text or a file of rows goes under a protocol, known before anything is measured.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What a text or a file of rows comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusSize {
    /// Tokens of the whole text, or rows of the file.
    pub tokens: u64,
    /// Rows that would be measured: whole windows, at most what was asked for.
    pub rows: u64,
    /// Inputs of every feed-forward network.
    pub d_in: u64,
    /// Rows among them that the maps are fitted on.
    pub train_rows: u64,
    /// Why a measurement would be refused, if it would.
    pub refusal: Option<Error>,
}

impl CorpusSize {
    /// Whether the maps have too few rows to be trusted: fewer than two for every input.
    pub fn is_short(&self) -> bool {
        self.train_rows < 2 * self.d_in
    }
}
