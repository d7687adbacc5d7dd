//! A model whose parts are loaded on demand, so that the device holds only a block at a time.

use std::rc::Rc;

use super::families::stored;
use super::load::load_part;
use super::stored::{CheckpointTensor, names};
use super::token_rows::TokenRows;
use super::{Block, Embedding, Head, Model, ModelConfig, ModelPart, ModelParts};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::weights::Weights;

/// The parts of a model, not yet loaded.
pub struct Checkpoint<'a> {
    weights: &'a Weights,
    model: Model<CheckpointTensor>,
}

impl<'a> Checkpoint<'a> {
    /// Looks up every tensor that `config` implies; the output head only if it is among `parts`.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape than `config` implies, or is stored in an unsupported format.
    pub fn new(config: &ModelConfig, weights: &'a Weights, parts: ModelParts) -> Result<Self> {
        Ok(Self { weights, model: stored(config, weights, parts)? })
    }

    /// Configuration of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    /// Whether the weights hold a block after the last one of the configuration.
    pub fn has_more_blocks(&self) -> bool {
        let Some(last) = self.model.blocks.last() else { return false };
        let (number, next) = ((self.model.blocks.len() - 1).to_string(), self.model.blocks.len().to_string());
        let following = |name: &String| {
            let parts: Vec<&str> = name.split('.').map(|part| if part == number { &*next } else { part }).collect();
            self.weights.has(&parts.join("."))
        };
        names(last).iter().any(following)
    }

    /// Stored bytes of all tensors; a tied head counts once.
    pub fn bytes(&self) -> u64 {
        self.model.stored_bytes(self.weights)
    }

    /// Announces everything that will be loaded to the source of the files.
    ///
    /// # Errors
    /// Errors of the source.
    pub async fn announce(&self) -> Result<()> {
        self.weights.announce(&self.model.groups()).await
    }

    /// Loads the embedding, with only the rows of the `occurring` tokens. Here and below, `on_bytes` is called with the
    /// bytes of each loaded tensor.
    ///
    /// # Errors
    /// Errors of the source, and a tensor that holds NaN or infinity.
    pub async fn embedding<B: Backend>(
        &self,
        backend: &B,
        occurring: &Rc<TokenRows>,
        on_bytes: &dyn Fn(u64),
    ) -> Result<Embedding<B::Tensor>> {
        let mut embedding = self.model.embedding.clone();
        embedding.tokens = embedding.tokens.with_rows(occurring);
        self.part(backend, embedding, on_bytes).await
    }

    /// Loads block `index`, which must exist.
    ///
    /// # Errors
    /// As [`Checkpoint::embedding`].
    pub async fn block<B: Backend>(
        &self,
        backend: &B,
        index: usize,
        on_bytes: &dyn Fn(u64),
    ) -> Result<Block<B::Tensor>> {
        // Group 0 is the embedding.
        self.weights.prepare(&self.model.groups()[index + 1]).await?;
        load_part(backend, self.weights, self.model.blocks[index].clone(), on_bytes).await
    }

    /// Loads the output head; `None` if the model has none or it was not requested.
    ///
    /// # Errors
    /// As [`Checkpoint::embedding`].
    pub async fn head<B: Backend>(&self, backend: &B, on_bytes: &dyn Fn(u64)) -> Result<Option<Head<B::Tensor>>> {
        self.part(backend, self.model.output_head(), on_bytes).await
    }

    /// Shapes of the embedding.
    pub fn embedding_shapes(&self) -> Embedding<Shape> {
        shapes(self.model.embedding.clone())
    }

    /// Shapes of the block `index`.
    pub fn block_shapes(&self, index: usize) -> Block<Shape> {
        shapes(self.model.blocks[index].clone())
    }

    async fn part<B: Backend, P: ModelPart<CheckpointTensor> + Clone>(
        &self,
        backend: &B,
        part: P,
        on_bytes: &dyn Fn(u64),
    ) -> Result<P::Of<B::Tensor>> {
        self.weights.prepare(&names(&part)).await?;
        load_part(backend, self.weights, part, on_bytes).await
    }
}

fn shapes<P: ModelPart<CheckpointTensor>>(part: P) -> P::Of<Shape> {
    let shapes: Result<P::Of<Shape>, std::convert::Infallible> = part.map(&mut |place| Ok(place.device_shape()));
    match shapes {
        Ok(shapes) => shapes,
    }
}
