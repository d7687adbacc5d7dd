//! Batches of rows and where they come from: a model's forward pass, or a file of captured rows.

use std::ops::Range;

use crate::backend::{Backend, GramRows, GramShape, Shape};
use crate::corpus::{Folds, TokenWindows};
use crate::error::Result;
use crate::forward::Forward;
use crate::job::Protocol;
use crate::moments::Scale;
use crate::weights::RowsFile;

use super::events::Meter;

/// Rows of one batch: large enough to keep a device busy, small enough to stop soon after a cancel.
const BATCH_ROWS: usize = 1024;

/// Whole windows of one fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) fold: usize,
    pub(super) windows: Range<usize>,
}

/// The batches of some folds in corpus order; none straddles two folds.
pub(super) fn batches(folds: &Folds, which: Range<usize>, seq_len: usize) -> Vec<Batch> {
    let step = (BATCH_ROWS / seq_len).max(1);
    let of_fold = |fold: usize| {
        let windows = folds.windows(fold);
        let end = windows.end;
        windows.step_by(step).map(move |first| Batch { fold, windows: first..end.min(first + step) })
    };
    which.flat_map(of_fold).collect()
}

/// x and y of one block over a batch.
pub(super) struct BlockRows<T> {
    pub(super) block: usize,
    pub(super) x: T,
    pub(super) y: T,
}

/// Something that can show the rows of every measured block, batch by batch, as often as asked.
#[allow(async_fn_in_trait, reason = "one thread by design")]
pub(super) trait RowSource<B: Backend> {
    /// Measured blocks, ascending.
    fn blocks(&self) -> &[usize];

    /// Shows x and y of every measured block over `batch`, in order.
    async fn show(&self, batch: &Batch, take: &mut dyn FnMut(BlockRows<B::Tensor>) -> Result<()>) -> Result<()>;
}

/// Rows captured from a model's forward pass.
pub(super) struct ModelRows<'a, B: Backend> {
    pub(super) forward: &'a Forward<'a, B>,
    pub(super) windows: &'a TokenWindows,
    pub(super) blocks: Vec<usize>,
}

impl<B: Backend> RowSource<B> for ModelRows<'_, B> {
    fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    async fn show(&self, batch: &Batch, take: &mut dyn FnMut(BlockRows<B::Tensor>) -> Result<()>) -> Result<()> {
        self.forward.run(self.windows.ids(batch.windows.clone()), &mut |capture| {
            if self.blocks.binary_search(&capture.block).is_err() {
                return Ok(());
            }
            take(BlockRows { block: capture.block, x: capture.ffn_in, y: capture.ffn_out })
        })?;
        Ok(())
    }
}

/// Rows read from a file, as the one block 0.
pub(super) struct FileRows<'a, B> {
    pub(super) backend: &'a B,
    pub(super) file: &'a RowsFile,
    pub(super) seq_len: usize,
}

impl<B: Backend> RowSource<B> for FileRows<'_, B> {
    fn blocks(&self) -> &[usize] {
        &[0]
    }

    async fn show(&self, batch: &Batch, take: &mut dyn FnMut(BlockRows<B::Tensor>) -> Result<()>) -> Result<()> {
        let rows = batch.windows.start * self.seq_len..batch.windows.end * self.seq_len;
        let (x, y) = (self.file.x(rows.clone()).await?, self.file.y(rows.clone()).await?);
        take(BlockRows {
            block: 0,
            x: self.backend.upload("x", Shape::new(rows.len(), self.file.d_in), &x)?,
            y: self.backend.upload("y", Shape::new(rows.len(), self.file.d_out), &y)?,
        })
    }
}

/// One pass over some folds, from the first one on: the second moments of every block, on the device.
pub(super) async fn accumulate<B: Backend>(
    backend: &B,
    source: &impl RowSource<B>,
    folds: &Folds,
    which: Range<usize>,
    protocol: &Protocol,
    meter: &Meter,
) -> Result<Vec<B::Gram>> {
    let mut grams: Vec<B::Gram> = Vec::new();
    for batch in batches(folds, which, protocol.seq_len) {
        if grams.is_empty() {
            // The first batch sets the scales, so its rows wait until they are known.
            let mut shown = Vec::new();
            source
                .show(&batch, &mut |rows| {
                    shown.push(rows);
                    Ok(())
                })
                .await?;
            for rows in &shown {
                grams.push(calibrated_gram(backend, rows, folds, protocol).await?);
            }
            for (gram, rows) in grams.iter_mut().zip(&shown) {
                backend.accumulate(gram, gram_rows(rows, &batch, protocol))?;
            }
        } else {
            let mut next = grams.iter_mut();
            let mut take = |rows: BlockRows<B::Tensor>| match next.next() {
                Some(gram) => backend.accumulate(gram, gram_rows(&rows, &batch, protocol)),
                None => Ok(()),
            };
            source.show(&batch, &mut take).await?;
        }
        backend.settle(&mut grams).await?;
        meter.reach((batch.windows.end * protocol.seq_len) as u64).await;
    }
    Ok(grams)
}

async fn calibrated_gram<B: Backend>(
    backend: &B,
    rows: &BlockRows<B::Tensor>,
    folds: &Folds,
    protocol: &Protocol,
) -> Result<B::Gram> {
    let (x, y) = (backend.shape(&rows.x), backend.shape(&rows.y));
    let shape = GramShape {
        d_in: x.cols,
        d_out: y.cols,
        folds: folds.len(),
        max_rows: BATCH_ROWS.max(protocol.seq_len),
        mode: protocol.gram,
    };
    let scale_x = Scale::from_rows(&backend.read(&rows.x).await?, x.cols);
    let scale_y = Scale::from_rows(&backend.read(&rows.y).await?, y.cols);
    backend.gram(shape, &scale_x, &scale_y)
}

/// A block's rows of a batch as its second moments take them.
pub(super) fn gram_rows<'a, T>(rows: &'a BlockRows<T>, batch: &Batch, protocol: &Protocol) -> GramRows<'a, T> {
    GramRows {
        block: rows.block,
        fold: batch.fold,
        first_row: batch.windows.start * protocol.seq_len,
        x: &rows.x,
        y: &rows.y,
        seq_len: protocol.seq_len,
        skip_positions: protocol.skip_positions,
    }
}
