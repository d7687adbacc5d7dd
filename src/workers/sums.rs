//! Sums the second moments of one block's rows, fold by fold, batch by batch.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::backend::{BATCH_ROWS, Backend, GramRows, GramShape};
use crate::error::Result;
use crate::job::Protocol;
use crate::stats::moments::{Moments, Scale};

/// One half of a fold's rows, the unit of work for a worker. Two halves add up to the same digits in either order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalfFold {
    /// The fold.
    pub fold: usize,
    /// 0 or 1.
    pub half: usize,
}

/// Scales of x and of y.
pub type Scales = (Scale, Scale);

/// The running sums of one block.
pub struct BlockSums<'a, B: Backend> {
    backend: &'a B,
    protocol: Protocol,
    block: usize,
    folds: usize,
    /// Set by the first batch, unless given.
    scales: Option<Scales>,
    gram: Option<B::Gram>,
    /// Moments of folds summed by other workers.
    others: Vec<(usize, Moments)>,
}

impl<'a, B: Backend> BlockSums<'a, B> {
    /// Empty sums of `folds` folds; `block` is for error messages.
    pub fn new(backend: &'a B, block: usize, folds: usize, protocol: &Protocol, scales: Option<Scales>) -> Self {
        Self { backend, protocol: protocol.clone(), block, folds, scales, gram: None, others: Vec::new() }
    }

    /// The scales; `None` before the first batch.
    pub fn scales(&self) -> Option<&Scales> {
        self.scales.as_ref()
    }

    /// Adds a batch of a half-fold and waits for the device. The windows are for error messages.
    ///
    /// # Errors
    /// Rows with NaN or infinity, and device errors.
    pub async fn add(
        &mut self,
        (part, windows): (HalfFold, &Range<usize>),
        x: &B::Tensor,
        y: &B::Tensor,
    ) -> Result<()> {
        let Protocol { seq_len, skip_positions, .. } = self.protocol;
        let mut gram = match self.gram.take() {
            Some(gram) => gram,
            None => self.empty(x, y).await?,
        };
        let (block, HalfFold { fold, half }, first_row) = (self.block, part, windows.start * seq_len);
        let rows = GramRows { block, fold, part: half, first_row, x, y, seq_len, skip_positions };
        self.backend.accumulate(&mut gram, rows)?;
        self.backend.batch_end(Some(&mut gram)).await?;
        self.gram = Some(gram);
        Ok(())
    }

    /// Adds moments summed by another worker with the same scales, of other half-folds.
    pub fn merge(&mut self, folds: Vec<(usize, Moments)>) {
        self.others.extend(folds);
    }

    async fn empty(&mut self, x: &B::Tensor, y: &B::Tensor) -> Result<B::Gram> {
        let (d_in, d_out) = (self.backend.shape(x).cols, self.backend.shape(y).cols);
        let shape = GramShape { d_in, d_out, folds: self.folds, mode: self.protocol.gram };
        let scales = match self.scales.take() {
            Some(scales) => scales,
            None => {
                // Independent of the batch size, so that it changes no digit.
                let first: Vec<u32> = (0..self.backend.shape(x).rows.min(BATCH_ROWS) as u32).collect();
                let (x, y) = (self.backend.gather(x, &first)?, self.backend.gather(y, &first)?);
                let rows = self.backend.read_all(&[&x, &y]).await?;
                (Scale::from_rows(&rows[0], d_in), Scale::from_rows(&rows[1], d_out))
            }
        };
        let gram = self.backend.gram(shape, &scales.0, &scales.1).await?;
        self.scales = Some(scales);
        Ok(gram)
    }

    /// Second moments of every fold; empty if there were no rows.
    ///
    /// # Errors
    /// Device errors.
    pub async fn moments(self) -> Result<Vec<Moments>> {
        let Some(gram) = self.gram else { return Ok(Vec::new()) };
        let mut folds = self.backend.moments(gram).await?;
        for (fold, more) in self.others {
            folds[fold].merge(&more);
        }
        Ok(folds)
    }
}
