//! Token windows and their folds. A window is never split.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::job::Protocol;

/// The windows of a text under a protocol, consecutive and without overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWindows {
    seq_len: usize,
    /// Token ids of whole windows.
    ids: Vec<u32>,
    /// Tokens of the text, of a long one those that were read.
    tokens: usize,
    /// Requested rows.
    rows: usize,
    /// Tokens of the text in a window.
    text_len: usize,
}

impl TokenWindows {
    /// The first ⌊rows / seq_len⌋ whole windows of a text, or as many as it has.
    pub fn new(corpus: &str, ids: Vec<u32>, protocol: &Protocol) -> Result<Self> {
        Self::after(corpus, ids, protocol, None)
    }

    /// [`TokenWindows::new`] with windows that begin with a token `bos`, which is one of their `seq_len`.
    pub fn after(corpus: &str, mut ids: Vec<u32>, protocol: &Protocol, bos: Option<u32>) -> Result<Self> {
        Protocol { bos: bos.is_some(), ..protocol.clone() }.check()?;
        let (seq_len, rows, tokens) = (protocol.seq_len, protocol.rows, ids.len());
        if tokens == 0 {
            return Err(Error::EmptyText { corpus: corpus.into() });
        }
        let text_len = if bos.is_some() { seq_len - 1 } else { seq_len };
        let windows = (tokens / text_len).min(rows / seq_len);
        ids.truncate(windows * text_len);
        if let Some(bos) = bos {
            ids = ids.chunks(text_len).flat_map(|text| [&[bos], text].concat()).collect();
        }
        ids.shrink_to_fit();
        Ok(Self { seq_len, ids, tokens, rows, text_len })
    }

    /// Tokens of a window.
    pub fn seq_len(&self) -> usize {
        self.seq_len
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.ids.len() / self.seq_len
    }

    /// Whole windows in what was read of the text.
    pub fn available(&self) -> usize {
        self.tokens / self.text_len
    }

    /// Whether the text is shorter than one window.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The same windows in the order in which `folds` holds them.
    pub fn in_order_of(mut self, folds: &Folds) -> Self {
        if folds.interleaved {
            let ids = folds.all().flat_map(|position| {
                let window = folds.window_at(position);
                self.ids(window..window + 1).iter().copied()
            });
            self.ids = ids.collect();
        }
        self
    }

    /// Token ids of consecutive windows.
    pub fn ids(&self, windows: Range<usize>) -> &[u32] {
        &self.ids[windows.start * self.seq_len..windows.end * self.seq_len]
    }
}

/// n windows in contiguous or interleaved folds. Fold k holds the positions ⌊k·n/folds⌋ … ⌊(k+1)·n/folds⌋ − 1 of the
/// list of windows, which is in the order of the text or interleaved over the folds.
///
/// The last fold is the held-out set. None is empty, and none is larger than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folds {
    windows: usize,
    folds: usize,
    interleaved: bool,
}

impl Folds {
    /// Cuts the windows of a text.
    pub fn new(corpus: &str, windows: &TokenWindows, folds: usize) -> Result<Self> {
        let seq_len = windows.seq_len;
        if windows.len() < folds && windows.tokens / windows.text_len >= folds {
            let hint = format!("{folds} folds of windows of {seq_len} need at least {} rows", folds * seq_len);
            return Err(Error::InvalidSetting { field: "--rows".into(), value: windows.rows.to_string(), hint });
        }
        Self::cut(corpus, windows.tokens, windows.len(), seq_len, folds)
    }

    /// Cuts captured rows into windows of `seq_len`; an incomplete last window is dropped.
    pub fn of_rows(corpus: &str, rows: usize, seq_len: usize, folds: usize) -> Result<Self> {
        Self::cut(corpus, rows, rows / seq_len, seq_len, folds)
    }

    fn cut(corpus: &str, tokens: usize, windows: usize, seq_len: usize, folds: usize) -> Result<Self> {
        if windows < folds {
            return Err(Error::TooFewWindows { corpus: corpus.into(), tokens, windows, seq_len, folds });
        }
        Ok(Self { windows, folds, interleaved: false })
    }

    /// Deals the windows to the folds in turn, if `interleaved`.
    #[must_use]
    pub fn interleaved(self, interleaved: bool) -> Self {
        Self { interleaved, ..self }
    }

    /// The window of the text at a position.
    pub fn window_at(&self, position: usize) -> usize {
        if !self.interleaved {
            return position;
        }
        // Folds are of ⌊n/folds⌋ windows or one more; the windows after the last whole turn go to the larger ones.
        let turns = self.windows / self.folds;
        let fold = (0..self.folds).rfind(|fold| self.windows(*fold).start <= position).unwrap_or(0);
        let start = self.windows(fold).start;
        let turn = position - start;
        if turn < turns { turn * self.folds + fold } else { turns * self.folds + (start - fold * turns) }
    }

    /// Number of folds.
    #[allow(clippy::len_without_is_empty, reason = "there are always two or more")]
    pub fn len(&self) -> usize {
        self.folds
    }

    /// The windows of all folds.
    pub fn all(&self) -> Range<usize> {
        0..self.windows
    }

    /// The windows of fold `fold`.
    pub fn windows(&self, fold: usize) -> Range<usize> {
        let start = |fold: usize| (fold as u64 * self.windows as u64 / self.folds as u64) as usize;
        start(fold)..start(fold + 1)
    }

    /// Training rows, skipped positions excluded.
    pub fn train_rows(&self, protocol: &Protocol) -> usize {
        self.windows(self.folds - 1).start * (protocol.seq_len - protocol.skip_positions)
    }

    /// Refuses fewer training rows than an affine map of `d_in` inputs has parameters per output.
    pub fn check_rows(&self, corpus: &str, protocol: &Protocol, d_in: usize) -> Result<()> {
        let (train_rows, needed) = (self.train_rows(protocol), d_in + 1);
        if train_rows < needed {
            return Err(Error::TooFewRows { corpus: corpus.into(), train_rows, needed });
        }
        Ok(())
    }
}
