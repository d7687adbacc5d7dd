//! Perplexity of a model, and with some of its feed-forward networks replaced (docs/measures.md, section 4).

use std::ops::Range;

use crate::backend::{BATCH_ROWS, Backend};
use crate::corpus::TokenWindows;
use crate::error::{Error, Result};
use crate::forward::{Forward, ignore};
use crate::platform::yielding::yield_now;
use crate::replacement::replaced::ReplacedParts;
use crate::replacement::swap::Replacements;
use crate::report::{Interval, Uncertainty, finite};
use crate::stats::bootstrap::Resamples;

/// Most logits computed at once, so that a large vocabulary does not exhaust device memory.
pub(crate) const MAX_LOGITS: usize = 1 << 24;

/// Windows on which perplexity is measured. The residual stream entering every block is kept on the device, so that a
/// swap reruns only the later blocks.
pub struct Evaluation<'a, B: Backend> {
    backend: &'a B,
    forward: &'a Forward<'a, B>,
    seq_len: usize,
    batches: Vec<WindowBatch<B::Tensor>>,
}

struct WindowBatch<T> {
    /// Next token of every row; unused at the end of a window.
    targets: Vec<u32>,
    /// Residual stream entering each layer, and after the last one.
    hidden: Vec<T>,
}

impl<'a, B: Backend> Evaluation<'a, B> {
    /// Runs the untouched model over the windows `which`.
    pub async fn new(
        backend: &'a B,
        forward: &'a Forward<'a, B>,
        windows: &TokenWindows,
        which: Range<usize>,
    ) -> Result<Self> {
        let seq_len = windows.seq_len();
        let step = (BATCH_ROWS / seq_len).max(1);
        let mut batches = Vec::new();
        for first in which.clone().step_by(step) {
            let ids = windows.ids(first..which.end.min(first + step));
            let mut hidden = Vec::new();
            let last = forward.run(ids, &mut |capture| {
                hidden.push(capture.hidden);
                Ok(())
            })?;
            hidden.push(last);
            let targets = next_tokens(ids);
            batches.push(WindowBatch { targets, hidden });
            yield_now().await;
        }
        Ok(Self { backend, forward, seq_len, batches })
    }

    /// Tokens of a window.
    pub fn seq_len(&self) -> usize {
        self.seq_len
    }

    /// Perplexity of the original model.
    pub async fn perplexity(&self) -> Result<f64> {
        self.loss().await?.perplexity()
    }

    /// Loss of the original model.
    pub async fn loss(&self) -> Result<Loss> {
        self.loss_of(|batch| Ok(batch.hidden[batch.hidden.len() - 1].clone())).await
    }

    /// Perplexity with the feed-forward networks of `swaps` replaced.
    pub async fn swapped(&self, swaps: &Replacements<B::Tensor>) -> Result<f64> {
        match swaps.first_key_value() {
            Some((&first, _)) => self.resumed(first, swaps).await,
            None => self.perplexity().await,
        }
    }

    /// Perplexity with all blocks from `first` on run again and the feed-forward networks of `swaps` replaced. No swap
    /// may lie before `first`.
    pub async fn resumed(&self, first: usize, swaps: &Replacements<B::Tensor>) -> Result<f64> {
        let loss = self.loss_of(|batch| self.forward.resume(first, batch.hidden[first].clone(), swaps, &mut ignore));
        loss.await?.perplexity()
    }

    /// Loss of `other`, a forward pass that differs from this model only from block `first` on, with replaced
    /// `parts`.
    pub async fn of_other(
        &self,
        other: &Forward<'_, B>,
        first: usize,
        parts: &ReplacedParts<B::Tensor>,
    ) -> Result<Loss> {
        let last = |hidden: &B::Tensor| Ok(other.streams(first, hidden.clone(), parts)?.pop());
        self.loss_of(|batch| {
            let entering = &batch.hidden[first];
            Ok(last(entering)?.unwrap_or_else(|| entering.clone()))
        })
        .await
    }

    async fn loss_of(&self, last: impl Fn(&WindowBatch<B::Tensor>) -> Result<B::Tensor>) -> Result<Loss> {
        let mut loss = Loss::default();
        for batch in &self.batches {
            let (vocab_size, seq_len) = (self.forward.vocab_size(), self.seq_len);
            let logits = WindowLogits { vocab_size, seq_len, of_rows: &|rows| self.forward.logits(rows) };
            loss.add(self.backend, &last(batch)?, &batch.targets, &logits).await?;
        }
        Ok(loss)
    }
}

/// Refuses a perplexity over no predicted token: `windows` windows of `seq_len` tokens.
///
/// # Errors
/// [`Error::InvalidSetting`].
pub fn check_predicted(windows: usize, seq_len: usize) -> Result<()> {
    if windows > 0 && seq_len > 1 {
        return Ok(());
    }
    Err(Error::InvalidSetting {
        field: "perplexity".into(),
        value: format!("an evaluation on {windows} windows of {seq_len} tokens"),
        hint: "use a text of at least one whole window, and windows of 2 or more tokens (--seq-len)".into(),
    })
}

/// The next token of every token; unused at the end of a window.
pub fn next_tokens(ids: &[u32]) -> Vec<u32> {
    ids.iter().skip(1).chain([&0]).copied().collect()
}

/// The logits of rows of windows.
pub struct WindowLogits<'a, T> {
    /// Logits of a row.
    pub vocab_size: usize,
    /// Rows of a window.
    pub seq_len: usize,
    /// Computes them from rows of the last residual stream.
    pub of_rows: &'a dyn Fn(&T) -> Result<T>,
}

/// Negative log-likelihood of tokens 1 … T−1 of every window so far.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    sum: f64,
    /// Of every window.
    windows: Vec<f64>,
    predicted: usize,
    seq_len: usize,
}

impl Loss {
    /// Adds whole windows. `hidden` is their last residual stream.
    pub async fn add<B: Backend>(
        &mut self,
        backend: &B,
        hidden: &B::Tensor,
        targets: &[u32],
        logits: &WindowLogits<'_, B::Tensor>,
    ) -> Result<()> {
        let WindowLogits { vocab_size, seq_len, of_rows } = *logits;
        // Whole windows whose logits fit.
        let rows_at_once = (MAX_LOGITS / vocab_size / seq_len).max(1) * seq_len;
        for first in (0..targets.len()).step_by(rows_at_once) {
            let rows = first..targets.len().min(first + rows_at_once);
            let ids: Vec<u32> = rows.clone().map(|row| row as u32).collect();
            let nll = backend.next_token_nll(&of_rows(&backend.gather(hidden, &ids)?)?, &targets[rows])?;
            for window in backend.read(&nll).await?.chunks_exact(seq_len) {
                let of_window = window[..seq_len - 1].iter().map(|&nll| f64::from(nll)).sum::<f64>();
                self.sum += of_window;
                self.windows.push(of_window);
                self.predicted += seq_len - 1;
                self.seq_len = seq_len;
            }
            yield_now().await;
        }
        Ok(())
    }

    /// exp of the mean.
    ///
    /// # Errors
    /// If no token is predicted.
    pub fn perplexity(&self) -> Result<f64> {
        check_predicted(self.predicted, self.seq_len)?;
        Ok((self.sum / self.predicted as f64).exp())
    }
}

/// The loss of the original model, with which that of a changed one is compared over the same windows.
#[derive(Clone, Debug)]
pub struct BaseLoss {
    loss: Option<Loss>,
    /// Perplexity; NaN without an output head.
    pub ppl: f64,
    resamples: Resamples,
}

impl BaseLoss {
    /// That of the original model, `None` without an output head; `seed` draws the windows of intervals.
    ///
    /// # Errors
    /// If no token is predicted.
    pub fn new(loss: Option<Loss>, seed: u64) -> Result<Self> {
        let resamples = Resamples::new(loss.as_ref().map_or(0, |loss| loss.windows.len()), seed);
        Ok(Self { ppl: perplexity(loss.as_ref())?, loss, resamples })
    }

    /// Perplexity of a changed model minus that of the original one; `None` if it is not finite.
    ///
    /// # Errors
    /// If no token is predicted.
    pub fn change(&self, of: Option<&Loss>) -> Result<Option<f64>> {
        Ok(finite(perplexity(of)? - self.ppl))
    }

    /// The uncertainty of the same (docs/measures.md, section 2).
    pub fn uncertainty(&self, of: Option<&Loss>) -> Option<Uncertainty> {
        let (base, of) = self.loss.as_ref().zip(of)?;
        let counts = vec![(of.predicted / of.windows.len().max(1)) as f64; of.windows.len()];
        let change = |[own, base, count]: [f64; 3]| (own / count).exp() - (base / count).exp();
        self.resamples.uncertainty([&of.windows, &base.windows, &counts], change)
    }

    /// Its interval alone.
    pub fn interval(&self, of: Option<&Loss>) -> Option<Interval> {
        self.uncertainty(of).map(|(interval, _)| interval)
    }
}

/// Perplexity of a loss; NaN without an output head.
///
/// # Errors
/// If no token is predicted.
pub fn perplexity(loss: Option<&Loss>) -> Result<f64> {
    loss.map_or(Ok(f64::NAN), Loss::perplexity)
}
