//! Batches of rows, and the text behind them.

use std::ops::Range;

use crate::backend::BATCH_ROWS;
use crate::corpus::{Folds, TokenWindows};
use crate::error::Result;
use crate::run::evaluation::check_predicted;
use crate::workers::sums::HalfFold;

/// Whole windows of one fold, or of a separate text for perplexity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run) struct Batch {
    /// `None` in a separate text for perplexity.
    pub(in crate::run) part: Option<HalfFold>,
    /// Whether perplexity is measured on it.
    pub(in crate::run) evaluated: bool,
    pub(in crate::run) windows: Range<usize>,
}

impl Batch {
    /// Its fold.
    pub(in crate::run) fn fold(&self) -> Option<usize> {
        self.part.map(|part| part.fold)
    }
}

/// Window and batch sizes.
#[derive(Clone, Copy)]
pub(in crate::run) struct Cut {
    /// Tokens of a window.
    pub(in crate::run) seq_len: usize,
    /// Rows per batch, before rounding to whole windows and folds.
    pub(in crate::run) batch_rows: usize,
}

/// The batches of all folds in corpus order; none straddles two folds. The first half of a fold's batches is its half
/// 0, the rest is half 1.
pub(in crate::run) fn fold_batches(folds: &Folds, sizes: Cut) -> Vec<Batch> {
    let of_fold = |fold: usize| {
        let all = sizes.cut(folds.windows(fold));
        let half = all.clone().count().div_ceil(2);
        all.enumerate().map(move |(at, windows)| {
            let part = HalfFold { fold, half: usize::from(at >= half) };
            Batch { part: Some(part), evaluated: false, windows }
        })
    };
    (0..folds.len()).flat_map(of_fold).collect()
}

impl Cut {
    /// Cuts windows into batches, each a multiple of the group that makes `BATCH_ROWS` rows.
    fn cut(self, windows: Range<usize>) -> impl Iterator<Item = Range<usize>> + Clone {
        let group = (BATCH_ROWS / self.seq_len).max(1);
        let (step, end) = (group * (self.batch_rows / BATCH_ROWS).max(1), windows.end);
        windows.step_by(step).map(move |first| first..end.min(first + step))
    }
}

/// The windows of a sweep: the text in folds, and the windows on which perplexity is measured.
pub(in crate::run) struct Reading<'a> {
    pub(in crate::run) folds: &'a Folds,
    text: &'a TokenWindows,
    evaluation: Option<&'a TokenWindows>,
    pub(in crate::run) batches: Vec<Batch>,
    /// Rows per batch as requested.
    pub(in crate::run) batch_rows: usize,
}

impl<'a> Reading<'a> {
    /// The text alone.
    pub(in crate::run) fn of_folds(text: &'a TokenWindows, folds: &'a Folds, cut: Cut) -> Self {
        Self { folds, text, evaluation: None, batches: fold_batches(folds, cut), batch_rows: cut.batch_rows }
    }

    /// The text, with perplexity measured on its held-out windows or on a separate text.
    ///
    /// # Errors
    /// If there is no token to predict.
    pub(in crate::run) fn evaluated(
        text: &'a TokenWindows,
        folds: &'a Folds,
        evaluation: Option<&'a TokenWindows>,
        sizes: Cut,
    ) -> Result<Self> {
        let seq_len = sizes.seq_len;
        let mut reading = Self::of_folds(text, folds, sizes);
        let heldout = folds.len() - 1;
        match evaluation {
            Some(windows) => {
                let batch = |windows| Batch { part: None, evaluated: true, windows };
                reading.batches.extend(sizes.cut(0..windows.len()).map(batch));
            }
            None => {
                let of_heldout = reading.batches.iter_mut().filter(|batch| batch.fold() == Some(heldout));
                of_heldout.for_each(|batch| batch.evaluated = true);
            }
        }
        let windows = reading.batches.iter().filter(|batch| batch.evaluated).map(|batch| batch.windows.len());
        check_predicted(windows.sum(), seq_len)?;
        Ok(Self { evaluation, ..reading })
    }

    /// Only the batches on which perplexity is measured.
    pub(in crate::run) fn of_evaluation(&self) -> Self {
        let batches = self.batches.iter().filter(|batch| batch.evaluated).cloned().collect();
        Self { batches, ..*self }
    }

    /// Only the batches of the training folds.
    pub(in crate::run) fn of_training(&self) -> Self {
        let heldout = self.folds.len() - 1;
        let is_training = |batch: &&Batch| batch.fold().is_some_and(|fold| fold != heldout);
        Self { batches: self.batches.iter().filter(is_training).cloned().collect(), ..*self }
    }

    /// Token ids of a batch.
    pub(in crate::run) fn ids(&self, batch: &Batch) -> &'a [u32] {
        let text = if batch.part.is_some() { self.text } else { self.evaluation.unwrap_or(self.text) };
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
