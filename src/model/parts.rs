//! The parts of a model, generic over the tensor type.

use serde::{Deserialize, Serialize};

use super::config::ModelConfig;

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
    /// `(vocab_size, hidden_size)`; the embedding if tied, `None` for an encoder.
    pub head: Option<Linear<T>>,
}

/// The embedding layers that produce the first residual stream.
#[derive(Clone, Debug)]
pub struct Embedding<T> {
    /// `(vocab_size, hidden_size)`.
    pub tokens: T,
    /// `(max_position_embeddings, hidden_size)`; includes BERT's constant token type embedding.
    pub positions: Option<T>,
    /// Norm of the sum (BERT).
    pub norm: Option<Norm<T>>,
}

/// One transformer layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Block<T> {
    /// norm₁ of [`super::Residual`].
    pub attention_norm: Norm<T>,
    /// Queries, keys, values and output.
    pub attention: Attention<T>,
    /// norm₂ of [`super::Residual`].
    pub ffn_norm: Norm<T>,
    /// The feed-forward network.
    pub ffn: Ffn<T>,
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

/// A normalisation; weight and bias are `(1, hidden_size)`.
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
}

/// The output head: maps the last residual stream to logits.
#[derive(Clone, Debug)]
pub struct Head<T> {
    /// Norm before the projection.
    pub norm: Option<Norm<T>>,
    /// `(vocab_size, hidden_size)`.
    pub linear: Linear<T>,
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
        let head = ModelPart::map(self.head, make)?;
        Ok(Model { config: self.config, embedding, blocks, final_norm, head })
    }
}

impl<T> ModelPart<T> for Embedding<T> {
    type Of<U> = Embedding<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Embedding<U>, E> {
        Ok(Embedding {
            tokens: make(self.tokens)?,
            positions: self.positions.map(&mut *make).transpose()?,
            norm: ModelPart::map(self.norm, make)?,
        })
    }
}

impl<T> ModelPart<T> for Block<T> {
    type Of<U> = Block<U>;

    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Block<U>, E> {
        let Attention { q, k, v, o } = self.attention;
        Ok(Block {
            attention_norm: self.attention_norm.map(make)?,
            attention: Attention { q: q.map(make)?, k: k.map(make)?, v: v.map(make)?, o: o.map(make)? },
            ffn_norm: self.ffn_norm.map(make)?,
            ffn: self.ffn.map(make)?,
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
        Ok(Head { norm: ModelPart::map(self.norm, make)?, linear: self.linear.map(make)? })
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
        })
    }
}
