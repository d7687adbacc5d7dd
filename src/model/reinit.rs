//! Re-initialised weights, as before training: a control for learned structure (docs/measures.md, section 6).
//!
//! Weights and embeddings are drawn from N(0, initializer_range²), biases are 0, norm weights 1. A seed gives the same
//! weights on every backend, whether drawn block by block or all at once.

use super::token_rows::TokenRows;
use super::{Attention, Block, Embedding, Ffn, Linear, Model, ModelConfig, Norm};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::platform::random::Random;
use crate::platform::yielding::yield_now;

/// Separate the seed's random streams of the two uses.
const FFN: u64 = u64::from_be_bytes(*b"anew ffn");
const MODEL: u64 = u64::from_be_bytes(*b"anew all");
/// Numbers drawn between two yields.
const PIECE: usize = 1 << 20;

impl Model<Shape> {
    /// A model of these shapes with re-initialised weights.
    pub async fn drawn<B: Backend>(&self, backend: &B, seed: u64) -> Result<Model<B::Tensor>> {
        let mut draw = Draw::model(backend, &self.config, seed);
        let embedding = draw.embedding(&self.embedding, None).await?;
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            blocks.push(draw.block(block).await?);
        }
        let final_norm = draw.optional_norm(&self.final_norm)?;
        Ok(Model { config: self.config.clone(), embedding, blocks, final_norm, projection: None, head: None })
    }
}

/// Draws weights from one random stream, in the model's order: embedding, then block by block.
pub struct Draw<'a, B> {
    backend: &'a B,
    deviation: f32,
    /// Whether a token type embedding is added to the position embeddings.
    typed: bool,
    random: Random,
}

impl<'a, B: Backend> Draw<'a, B> {
    /// Draws a whole model.
    pub fn model(backend: &'a B, config: &ModelConfig, seed: u64) -> Self {
        Self::of(backend, config, Random::stream(seed, &[MODEL]))
    }

    /// Draws only the feed-forward network of `block`.
    pub async fn network(
        backend: &'a B,
        config: &ModelConfig,
        (block, shapes): (usize, &Ffn<Shape>),
        seed: u64,
    ) -> Result<Ffn<B::Tensor>> {
        let random = Random::stream(seed, &[FFN, block as u64]);
        Self::of(backend, config, random).ffn(shapes).await
    }

    fn of(backend: &'a B, config: &ModelConfig, random: Random) -> Self {
        Self { backend, deviation: config.initializer_range, typed: config.type_vocab_size > 0, random }
    }

    /// Draws the embedding; keeps only the rows of the `occurring` tokens.
    pub async fn embedding(
        &mut self,
        shapes: &Embedding<Shape>,
        occurring: Option<&TokenRows>,
    ) -> Result<Embedding<B::Tensor>> {
        let Shape { rows, cols } = shapes.tokens;
        let (mut tokens, step) = (Vec::new(), (PIECE / cols).max(1));
        for first in (0..rows).step_by(step) {
            let ids = first..rows.min(first + step);
            let values = self.values(ids.len() * cols).await;
            match occurring {
                Some(occurring) => occurring.pick(ids, &values, cols, &mut tokens),
                None => tokens.extend(values),
            }
        }
        let shape = Shape::new(tokens.len() / cols, cols);
        Ok(Embedding {
            tokens: self.backend.upload("redrawn embedding", shape, &tokens)?,
            projection: match &shapes.projection {
                Some(projection) => Some(self.linear(projection).await?),
                None => None,
            },
            positions: match shapes.positions {
                Some(table) => Some(self.positions(table).await?),
                None => None,
            },
            norm: self.optional_norm(&shapes.norm)?,
        })
    }

    /// Draws the next block.
    pub async fn block(&mut self, shapes: &Block<Shape>) -> Result<Block<B::Tensor>> {
        let Attention { q, k, v, o, q_norm, k_norm, pattern } = &shapes.attention;
        Ok(Block {
            attention_norm: self.norm(&shapes.attention_norm)?,
            attention: Attention {
                q: self.linear(q).await?,
                k: self.linear(k).await?,
                v: self.linear(v).await?,
                o: self.linear(o).await?,
                q_norm: self.optional_norm(q_norm)?,
                k_norm: self.optional_norm(k_norm)?,
                pattern: *pattern,
            },
            attention_out_norm: self.optional_norm(&shapes.attention_out_norm)?,
            ffn_norm: self.norm(&shapes.ffn_norm)?,
            ffn: self.ffn(&shapes.ffn).await?,
            ffn_out_norm: self.optional_norm(&shapes.ffn_out_norm)?,
        })
    }

    async fn values(&mut self, len: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(len);
        while values.len() < len {
            let end = len.min(values.len() + PIECE);
            values.resize_with(end, || self.random.normal() as f32 * self.deviation);
            yield_now().await;
        }
        values
    }

    async fn matrix(&mut self, shape: Shape) -> Result<B::Tensor> {
        let values = self.values(shape.len()).await;
        self.backend.upload("redrawn weight", shape, &values)
    }

    /// Draws position embeddings, plus one token type embedding in every row if the family has them.
    async fn positions(&mut self, shape: Shape) -> Result<B::Tensor> {
        let mut values = self.values(shape.len()).await;
        if self.typed {
            let of_type = self.values(shape.cols).await;
            for row in values.chunks_exact_mut(shape.cols) {
                row.iter_mut().zip(&of_type).for_each(|(value, of_type)| *value += of_type);
            }
        }
        self.backend.upload("redrawn positions", shape, &values)
    }

    fn constant(&self, shape: Shape, value: f32) -> Result<B::Tensor> {
        self.backend.upload("redrawn constant", shape, &vec![value; shape.len()])
    }

    async fn linear(&mut self, shapes: &Linear<Shape>) -> Result<Linear<B::Tensor>> {
        let weight = self.matrix(shapes.weight).await?;
        let bias = shapes.bias.map(|bias| self.constant(bias, 0.0)).transpose()?;
        Ok(Linear { weight, bias })
    }

    fn norm(&self, shapes: &Norm<Shape>) -> Result<Norm<B::Tensor>> {
        Ok(match *shapes {
            Norm::Layer { weight, bias, eps } => {
                Norm::Layer { weight: self.constant(weight, 1.0)?, bias: self.constant(bias, 0.0)?, eps }
            }
            Norm::Rms { weight, eps } => Norm::Rms { weight: self.constant(weight, 1.0)?, eps },
            Norm::Identity => Norm::Identity,
        })
    }

    fn optional_norm(&self, shapes: &Option<Norm<Shape>>) -> Result<Option<Norm<B::Tensor>>> {
        shapes.as_ref().map(|norm| self.norm(norm)).transpose()
    }

    async fn ffn(&mut self, shapes: &Ffn<Shape>) -> Result<Ffn<B::Tensor>> {
        let gate = match &shapes.gate {
            Some(gate) => Some(self.linear(gate).await?),
            None => None,
        };
        Ok(Ffn { gate, up: self.linear(&shapes.up).await?, down: self.linear(&shapes.down).await? })
    }
}
