//! Batches of rows, the text that they come from, and their second moments.

use std::ops::Range;

use crate::backend::{Backend, GramRows, GramShape};
use crate::corpus::{Folds, TokenWindows};
use crate::error::Result;
use crate::job::Protocol;
use crate::moments::{Moments, Scale};
use crate::swap::check_predicted;

/// Rows of one batch: large enough to keep a device busy, small enough to stop soon after a cancel.
const BATCH_ROWS: usize = 1024;

/// Whole windows of one fold, or of a text that perplexity is measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run) struct Batch {
    /// `None` in a text of its own for perplexity.
    pub(in crate::run) fold: Option<usize>,
    /// Whether perplexity is measured on it.
    pub(in crate::run) evaluated: bool,
    pub(in crate::run) windows: Range<usize>,
}

/// The batches of all folds in corpus order; none straddles two folds.
pub(in crate::run) fn fold_batches(folds: &Folds, seq_len: usize) -> Vec<Batch> {
    let of_fold = |fold: usize| {
        let batch = move |windows| Batch { fold: Some(fold), evaluated: false, windows };
        cut(folds.windows(fold), seq_len).map(batch)
    };
    (0..folds.len()).flat_map(of_fold).collect()
}

fn cut(windows: Range<usize>, seq_len: usize) -> impl Iterator<Item = Range<usize>> {
    let (step, end) = ((BATCH_ROWS / seq_len).max(1), windows.end);
    windows.step_by(step).map(move |first| first..end.min(first + step))
}

/// What the rows of a sweep are made of: the text in folds, and the windows that perplexity is measured on.
pub(in crate::run) struct Reading<'a> {
    pub(in crate::run) folds: &'a Folds,
    text: &'a TokenWindows,
    evaluation: Option<&'a TokenWindows>,
    pub(in crate::run) batches: Vec<Batch>,
}

impl<'a> Reading<'a> {
    /// The text alone.
    pub(in crate::run) fn of_folds(text: &'a TokenWindows, folds: &'a Folds, seq_len: usize) -> Self {
        Self { folds, text, evaluation: None, batches: fold_batches(folds, seq_len) }
    }

    /// The text, with perplexity measured on its held-out windows, or on a text of its own.
    ///
    /// # Errors
    /// Where that has no token to be predicted.
    pub(in crate::run) fn evaluated(
        text: &'a TokenWindows,
        folds: &'a Folds,
        evaluation: Option<&'a TokenWindows>,
        seq_len: usize,
    ) -> Result<Self> {
        let mut reading = Self::of_folds(text, folds, seq_len);
        let heldout = folds.len() - 1;
        match evaluation {
            Some(windows) => {
                let batch = |windows| Batch { fold: None, evaluated: true, windows };
                reading.batches.extend(cut(0..windows.len(), seq_len).map(batch));
            }
            None => {
                let of_heldout = reading.batches.iter_mut().filter(|batch| batch.fold == Some(heldout));
                of_heldout.for_each(|batch| batch.evaluated = true);
            }
        }
        let windows = reading.batches.iter().filter(|batch| batch.evaluated).map(|batch| batch.windows.len());
        check_predicted(windows.sum::<usize>() * (seq_len - 1))?;
        Ok(Self { evaluation, ..reading })
    }

    /// Only what perplexity is measured on.
    pub(in crate::run) fn of_evaluation(&self) -> Self {
        let batches = self.batches.iter().filter(|batch| batch.evaluated).cloned().collect();
        Self { batches, ..*self }
    }

    /// Token ids of a batch.
    pub(in crate::run) fn ids(&self, batch: &Batch) -> &'a [u32] {
        let text = if batch.fold.is_some() { self.text } else { self.evaluation.unwrap_or(self.text) };
        text.ids(batch.windows.clone())
    }

    /// Token ids of all batches.
    pub(in crate::run) fn all_ids(&self) -> impl Iterator<Item = u32> {
        self.batches.iter().flat_map(|batch| self.ids(batch)).copied()
    }

    /// Rows of all batches.
    pub(in crate::run) fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| self.ids(batch).len() as u64).sum()
    }
}

/// The second moments of one block's rows, fold by fold, as batches come.
pub(in crate::run) struct Sums<'a, B: Backend> {
    backend: &'a B,
    folds: &'a Folds,
    protocol: &'a Protocol,
    block: usize,
    /// Made with the first batch, which sets the scales.
    gram: Option<B::Gram>,
}

impl<'a, B: Backend> Sums<'a, B> {
    /// No rows yet; `block` is for error messages.
    pub(in crate::run) fn new(backend: &'a B, block: usize, folds: &'a Folds, protocol: &'a Protocol) -> Self {
        Self { backend, folds, protocol, block, gram: None }
    }

    /// Adds a batch of some fold, and waits until the device has done so.
    pub(in crate::run) async fn add(
        &mut self,
        (fold, windows): (usize, &Range<usize>),
        x: &B::Tensor,
        y: &B::Tensor,
    ) -> Result<()> {
        let Protocol { seq_len, skip_positions, .. } = *self.protocol;
        let mut gram = match self.gram.take() {
            Some(gram) => gram,
            None => self.calibrated(x, y).await?,
        };
        let first_row = windows.start * seq_len;
        let rows = GramRows { block: self.block, fold, first_row, x, y, seq_len, skip_positions };
        self.backend.accumulate(&mut gram, rows)?;
        self.backend.settle(std::slice::from_mut(&mut gram)).await?;
        self.gram = Some(gram);
        Ok(())
    }

    async fn calibrated(&self, x: &B::Tensor, y: &B::Tensor) -> Result<B::Gram> {
        let (d_in, d_out) = (self.backend.shape(x).cols, self.backend.shape(y).cols);
        let shape = GramShape {
            d_in,
            d_out,
            folds: self.folds.len(),
            max_rows: BATCH_ROWS.max(self.protocol.seq_len),
            mode: self.protocol.gram,
        };
        let scale_x = Scale::from_rows(&self.backend.read(x).await?, d_in);
        let scale_y = Scale::from_rows(&self.backend.read(y).await?, d_out);
        self.backend.gram(shape, &scale_x, &scale_y)
    }

    /// Second moments of every fold.
    pub(in crate::run) async fn moments(&self) -> Result<Vec<Moments>> {
        match &self.gram {
            Some(gram) => self.backend.moments(gram).await,
            None => Ok(Vec::new()),
        }
    }
}
