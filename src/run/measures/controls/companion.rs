//! A model that runs block by block next to the measured one: with re-initialised weights, or another checkpoint.

use std::rc::Rc;

use crate::backend::Backend;
use crate::error::Result;
use crate::forward::BlockOutput;
use crate::model::{Block, Draw, Embedding, TokenRows};
use crate::run::sweep::{Batch, Source, StoredRows};
use crate::workers::sums::HalfFold;

/// A control model, with the residual stream up to its next block.
pub(super) struct ControlModel<'a, B: Backend> {
    backend: &'a B,
    source: Source<'a, B>,
    /// Draws the weights; `None` for those of the checkpoint.
    draw: Option<Draw<'a, B>>,
    /// Residual stream before the next block, by batch; empty before the first one.
    stream: Vec<StoredRows<B::Tensor>>,
    next: usize,
}

/// x and y of a batch.
pub(super) struct ControlRows<T> {
    pub(super) batch: Batch,
    pub(super) part: HalfFold,
    pub(super) x: StoredRows<T>,
    pub(super) y: StoredRows<T>,
}

impl<'a, B: Backend> ControlModel<'a, B> {
    /// The model of a checkpoint.
    pub(super) fn stored(backend: &'a B, source: Source<'a, B>) -> Self {
        Self { backend, source, draw: None, stream: Vec::new(), next: 0 }
    }

    /// A re-initialised model of the same shapes.
    pub(super) fn drawn(backend: &'a B, source: Source<'a, B>, seed: u64) -> Self {
        let draw = Some(Draw::model(backend, source.checkpoint.config(), seed));
        Self { draw, ..Self::stored(backend, source) }
    }

    /// Runs through the block `index`, which must not be an earlier one, and returns its rows in the folds.
    pub(super) async fn visit(&mut self, index: usize) -> Result<Vec<ControlRows<B::Tensor>>> {
        let Source { store, layers, reading, .. } = self.source;
        if self.next == 0 {
            self.embed().await?;
        }
        let mut seen = Vec::new();
        while self.next <= index {
            let block = self.block().await?;
            for (batch, place) in reading.batches.iter().zip(&mut self.stream) {
                let BlockOutput { x, y, next, .. } = layers.pass(&block, &store.tensor(place)?)?;
                *place = store.keep(next).await?;
                self.backend.batch_end(None).await?;
                if let Some(part) = batch.part.filter(|_| self.next == index) {
                    let (x, y) = (store.keep(x).await?, store.keep(y).await?);
                    seen.push(ControlRows { batch: batch.clone(), part, x, y });
                }
            }
            self.next += 1;
        }
        Ok(seen)
    }

    async fn embed(&mut self) -> Result<()> {
        let Source { store, layers, reading, .. } = self.source;
        let occurring = Rc::new(TokenRows::of(reading.all_ids()));
        let embedding = self.embedding(&occurring).await?;
        for batch in &reading.batches {
            let hidden = layers.embed(&embedding, &occurring.rows(reading.ids(batch)))?;
            self.stream.push(store.keep(hidden).await?);
        }
        Ok(())
    }

    async fn embedding(&mut self, occurring: &Rc<TokenRows>) -> Result<Embedding<B::Tensor>> {
        let checkpoint = self.source.checkpoint;
        match &mut self.draw {
            Some(draw) => draw.embedding(&checkpoint.embedding_shapes(), Some(occurring)).await,
            None => checkpoint.embedding(self.backend, occurring, &|_| ()).await,
        }
    }

    async fn block(&mut self) -> Result<Block<B::Tensor>> {
        let checkpoint = self.source.checkpoint;
        match &mut self.draw {
            Some(draw) => draw.block(&checkpoint.block_shapes(self.next)).await,
            None => checkpoint.block(self.backend, self.next, &|_| ()).await,
        }
    }
}
