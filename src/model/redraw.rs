//! Weights drawn anew, as before any training: a control for what is learned (docs/measures.md, section 6).
//!
//! Weights and embeddings come from N(0, initializer_range²), biases are 0, norms scale by 1. The same seed gives the
//! same weights on every backend.

use super::{Attention, Block, Ffn, Linear, Model, Norm};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::pause::pause;
use crate::random::Random;

/// Set the two uses of the seed apart from each other and from others.
const FFN: u64 = u64::from_be_bytes(*b"anew ffn");
const MODEL: u64 = u64::from_be_bytes(*b"anew all");
/// Numbers drawn between two looks at whether the measurement is still wanted.
const PIECE: usize = 1 << 20;

impl<T: Clone> Model<T> {
    /// This model with the feed-forward network of every block in `blocks` drawn anew; all else is shared.
    pub async fn with_redrawn_ffns<B: Backend<Tensor = T>>(
        &self,
        backend: &B,
        blocks: &[usize],
        seed: u64,
    ) -> Result<Self> {
        let mut model = self.clone();
        for &block in blocks {
            let mut draw = Draw::new(backend, self, Random::stream(seed, &[FFN, block as u64]));
            model.blocks[block].ffn = draw.ffn(&self.blocks[block].ffn).await?;
        }
        Ok(model)
    }

    /// This model with every weight drawn anew, without its output head.
    pub async fn redrawn<B: Backend<Tensor = T>>(&self, backend: &B, seed: u64) -> Result<Self> {
        let mut draw = Draw::new(backend, self, Random::stream(seed, &[MODEL]));
        let token_embedding = draw.matrix(backend.shape(&self.token_embedding)).await?;
        let position_embedding = match &self.position_embedding {
            Some(table) => Some(draw.positions(backend.shape(table), self.config.type_vocab_size > 0).await?),
            None => None,
        };
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            blocks.push(draw.block(block).await?);
        }
        Ok(Self {
            config: self.config.clone(),
            token_embedding,
            position_embedding,
            embedding_norm: self.embedding_norm.as_ref().map(|norm| draw.norm(norm)).transpose()?,
            blocks,
            final_norm: self.final_norm.as_ref().map(|norm| draw.norm(norm)).transpose()?,
            head: None,
        })
    }
}

/// One sequence of numbers that becomes tensors, each of the shape of the one it replaces.
struct Draw<'a, B> {
    backend: &'a B,
    deviation: f32,
    random: Random,
}

impl<'a, B: Backend> Draw<'a, B> {
    fn new(backend: &'a B, model: &Model<B::Tensor>, random: Random) -> Self {
        Self { backend, deviation: model.config.initializer_range, random }
    }

    async fn values(&mut self, len: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(len);
        while values.len() < len {
            let end = len.min(values.len() + PIECE);
            values.resize_with(end, || self.random.normal() as f32 * self.deviation);
            pause().await;
        }
        values
    }

    async fn matrix(&mut self, shape: Shape) -> Result<B::Tensor> {
        let values = self.values(shape.len()).await;
        self.backend.upload("redrawn weight", shape, &values)
    }

    /// Position embeddings, with one token type's embedding in every row where the family has one.
    async fn positions(&mut self, shape: Shape, typed: bool) -> Result<B::Tensor> {
        let mut values = self.values(shape.len()).await;
        if typed {
            let of_type = self.values(shape.cols).await;
            for row in values.chunks_exact_mut(shape.cols) {
                row.iter_mut().zip(&of_type).for_each(|(value, of_type)| *value += of_type);
            }
        }
        self.backend.upload("redrawn positions", shape, &values)
    }

    fn constant(&self, like: &B::Tensor, value: f32) -> Result<B::Tensor> {
        let shape = self.backend.shape(like);
        self.backend.upload("redrawn constant", shape, &vec![value; shape.len()])
    }

    async fn linear(&mut self, linear: &Linear<B::Tensor>) -> Result<Linear<B::Tensor>> {
        let weight = self.matrix(self.backend.shape(&linear.weight)).await?;
        let bias = linear.bias.as_ref().map(|bias| self.constant(bias, 0.0)).transpose()?;
        Ok(Linear { weight, bias })
    }

    fn norm(&self, norm: &Norm<B::Tensor>) -> Result<Norm<B::Tensor>> {
        Ok(match norm {
            Norm::Layer { weight, bias, eps } => {
                Norm::Layer { weight: self.constant(weight, 1.0)?, bias: self.constant(bias, 0.0)?, eps: *eps }
            }
            Norm::Rms { weight, eps } => Norm::Rms { weight: self.constant(weight, 1.0)?, eps: *eps },
        })
    }

    async fn ffn(&mut self, ffn: &Ffn<B::Tensor>) -> Result<Ffn<B::Tensor>> {
        let gate = match &ffn.gate {
            Some(gate) => Some(self.linear(gate).await?),
            None => None,
        };
        Ok(Ffn { gate, up: self.linear(&ffn.up).await?, down: self.linear(&ffn.down).await? })
    }

    async fn block(&mut self, block: &Block<B::Tensor>) -> Result<Block<B::Tensor>> {
        let Attention { q, k, v, o } = &block.attention;
        Ok(Block {
            attention_norm: self.norm(&block.attention_norm)?,
            attention: Attention {
                q: self.linear(q).await?,
                k: self.linear(k).await?,
                v: self.linear(v).await?,
                o: self.linear(o).await?,
            },
            ffn_norm: self.norm(&block.ffn_norm)?,
            ffn: self.ffn(&block.ffn).await?,
        })
    }
}
