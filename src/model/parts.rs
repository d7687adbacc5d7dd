//! The parts of a model, generic over the tensor type.

use serde::{Deserialize, Serialize};

use super::config::{AttentionPattern, ModelConfig};

/// The weights of a model on a backend with tensors `T`.
#[derive(Clone, Debug)]
pub struct Model<T> {
    /// Its configuration.
    pub config: ModelConfig,
    /// Maps token ids to the residual stream.
    pub embedding: Embedding<T>,
    /// One entry per layer.
    pub blocks: Vec<Block<T>>,
    /// Norm before the output head.
    pub final_norm: Option<Norm<T>>,
    /// Projects the residual stream to the width of the embedding before the output head (OPT-350m).
    pub projection: Option<Linear<T>>,
    /// `(vocab_size, embedding_size)`; the embedding if tied, `None` for an encoder.
    pub head: Option<Linear<T>>,
}

impl<T> Model<T> {
    /// A model without a final norm and a head.
    pub(super) fn headless(config: &ModelConfig, embedding: Embedding<T>, blocks: Vec<Block<T>>) -> Self {
        Self { config: config.clone(), embedding, blocks, final_norm: None, projection: None, head: None }
    }
}

/// Which tensors of a checkpoint are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelParts {
    /// All but the output head.
    Body,
    /// The output head too, which perplexity needs.
    WithHead,
}

/// The embedding layers that produce the first residual stream.
#[derive(Clone, Debug)]
pub struct Embedding<T> {
    /// `(vocab_size, embedding_size)`.
    pub tokens: T,
    /// Projects rows of `tokens` to the width of the residual stream, if they differ.
    pub projection: Option<Linear<T>>,
    /// `(max_position_embeddings, hidden_size)`; includes BERT's constant token type embedding.
    pub positions: Option<T>,
    /// Norm of the sum (BERT, BLOOM).
    pub norm: Option<Norm<T>>,
}

impl<T> Embedding<T> {
    /// The tokens' rows alone.
    pub(super) fn plain(tokens: T) -> Self {
        Self { tokens, projection: None, positions: None, norm: None }
    }
}

/// One transformer layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Block<T> {
    /// norm₁ of [`super::Residual`].
    pub attention_norm: Norm<T>,
    /// Queries, keys, values and output.
    pub attention: Attention<T>,
    /// Norm of the attention's output before it is added (Gemma 2).
    pub attention_out_norm: Option<Norm<T>>,
    /// norm₂ of [`super::Residual`].
    pub ffn_norm: Norm<T>,
    /// The feed-forward network.
    pub ffn: Ffn<T>,
    /// Norm of the network's output before it is added (Gemma 2).
    pub ffn_out_norm: Option<Norm<T>>,
}

/// Projections of an attention layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attention<T> {
    /// `(heads·head_dim, hidden_size)`.
    pub q: Linear<T>,
    /// `(kv_heads·head_dim, hidden_size)`.
    pub k: Linear<T>,
    /// `(kv_heads·head_dim, hidden_size)`.
    pub v: Linear<T>,
    /// `(hidden_size, heads·head_dim)`.
    pub o: Linear<T>,
    /// Norm of every head of the queries before rotation (Qwen3, Gemma 3), with weights `(1, head_dim)`.
    pub q_norm: Option<Norm<T>>,
    /// The same for keys.
    pub k_norm: Option<Norm<T>>,
    /// How this layer's attention works.
    pub pattern: AttentionPattern,
}

impl<T> Attention<T> {
    /// The projections q, k, v and o without norms.
    pub fn plain([q, k, v, o]: [Linear<T>; 4], pattern: AttentionPattern) -> Self {
        Self { q, k, v, o, q_norm: None, k_norm: None, pattern }
    }
}

impl<T> Block<T> {
    /// A block without norms of outputs.
    pub fn plain([attention_norm, ffn_norm]: [Norm<T>; 2], attention: Attention<T>, ffn: Ffn<T>) -> Self {
        Self { attention_norm, attention, attention_out_norm: None, ffn_norm, ffn, ffn_out_norm: None }
    }
}

/// A feed-forward network: down(act(up(x))), or down(act(gate(x)) ⊙ up(x)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ffn<T> {
    /// The gate of a gated network.
    pub gate: Option<Linear<T>>,
    /// `(intermediate_size, hidden_size)`.
    pub up: Linear<T>,
    /// `(hidden_size, intermediate_size)`.
    pub down: Linear<T>,
}

/// An affine layer: weight `(out, in)`, bias `(1, out)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Linear<T> {
    /// `(out, in)`.
    pub weight: T,
    /// `(1, out)`.
    pub bias: Option<T>,
}

/// A normalisation; weight and bias are as wide as its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Norm<T> {
    /// LayerNorm.
    Layer {
        /// Scale.
        weight: T,
        /// Offset.
        bias: T,
        /// Epsilon.
        eps: f32,
    },
    /// RMSNorm.
    Rms {
        /// Scale.
        weight: T,
        /// Epsilon.
        eps: f32,
    },
    /// None: rows stay as they are (the first norm of ModernBERT).
    Identity,
}

/// The output head: maps the last residual stream to logits.
#[derive(Clone, Debug)]
pub struct Head<T> {
    /// Norm of the residual stream.
    pub norm: Option<Norm<T>>,
    /// Projection to the width of the embedding, if it differs.
    pub projection: Option<Linear<T>>,
    /// `(vocab_size, embedding_size)`.
    pub linear: Linear<T>,
}

impl<T: Clone> Model<T> {
    /// Everything after the last block; `None` for an encoder, or if the head was not loaded.
    pub fn output_head(&self) -> Option<Head<T>> {
        let linear = self.head.clone()?;
        Some(Head { norm: self.final_norm.clone(), projection: self.projection.clone(), linear })
    }
}

/// A part of a model with any tensor type: device tensors, checkpoint tensors, or only shapes.
pub trait ModelPart<T>: Sized {
    /// The same part with tensors `U`.
    type Of<U>;

    /// Applies `make` to every tensor. A tied head is mapped separately from the embedding.
    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Self::Of<U>, E>;
}

impl<T, P: ModelPart<T>> ModelPart<T> for Option<P> {
    type Of<U> = Option<P::Of<U>>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Option<P::Of<U>>, E> {
        match self {
            Some(part) => part.map(make).map(Some),
            None => Ok(None),
        }
    }
}

impl<T> ModelPart<T> for Model<T> {
    type Of<U> = Model<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Model<U>, E> {
        let embedding = self.embedding.map(make)?;
        let blocks = self.blocks.into_iter().map(|block| block.map(make)).collect::<Result<_, E>>()?;
        let final_norm = ModelPart::map(self.final_norm, make)?;
        let projection = ModelPart::map(self.projection, make)?;
        let head = ModelPart::map(self.head, make)?;
        Ok(Model { config: self.config, embedding, blocks, final_norm, projection, head })
    }
}

impl<T> ModelPart<T> for Embedding<T> {
    type Of<U> = Embedding<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Embedding<U>, E> {
        Ok(Embedding {
            tokens: make(self.tokens)?,
            projection: ModelPart::map(self.projection, make)?,
            positions: self.positions.map(&mut *make).transpose()?,
            norm: ModelPart::map(self.norm, make)?,
        })
    }
}

impl<T> ModelPart<T> for Block<T> {
    type Of<U> = Block<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Block<U>, E> {
        Ok(Block {
            attention_norm: self.attention_norm.map(make)?,
            attention: self.attention.map(make)?,
            attention_out_norm: ModelPart::map(self.attention_out_norm, make)?,
            ffn_norm: self.ffn_norm.map(make)?,
            ffn: self.ffn.map(make)?,
            ffn_out_norm: ModelPart::map(self.ffn_out_norm, make)?,
        })
    }
}

impl<T> ModelPart<T> for Attention<T> {
    type Of<U> = Attention<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Attention<U>, E> {
        Ok(Attention {
            q: self.q.map(make)?,
            k: self.k.map(make)?,
            v: self.v.map(make)?,
            o: self.o.map(make)?,
            q_norm: ModelPart::map(self.q_norm, make)?,
            k_norm: ModelPart::map(self.k_norm, make)?,
            pattern: self.pattern,
        })
    }
}

impl<T> ModelPart<T> for Ffn<T> {
    type Of<U> = Ffn<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Ffn<U>, E> {
        Ok(Ffn { gate: ModelPart::map(self.gate, make)?, up: self.up.map(make)?, down: self.down.map(make)? })
    }
}

impl<T> ModelPart<T> for Head<T> {
    type Of<U> = Head<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Head<U>, E> {
        Ok(Head {
            norm: ModelPart::map(self.norm, make)?,
            projection: ModelPart::map(self.projection, make)?,
            linear: self.linear.map(make)?,
        })
    }
}

impl<T> ModelPart<T> for Linear<T> {
    type Of<U> = Linear<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Linear<U>, E> {
        Ok(Linear { weight: make(self.weight)?, bias: self.bias.map(make).transpose()? })
    }
}

impl<T> ModelPart<T> for Norm<T> {
    type Of<U> = Norm<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Norm<U>, E> {
        Ok(match self {
            Self::Layer { weight, bias, eps } => Norm::Layer { weight: make(weight)?, bias: make(bias)?, eps },
            Self::Rms { weight, eps } => Norm::Rms { weight: make(weight)?, eps },
            Self::Identity => Norm::Identity,
        })
    }
}
