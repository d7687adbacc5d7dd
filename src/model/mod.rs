//! Model families as data: what a configuration says and which checkpoint tensor plays which part.
//!
//! No arithmetic here: a family file (`gpt2`, `neox`, `llama`, `bert`) maps its `config.json` onto [`ModelConfig`]
//! and its checkpoint names onto a [`Model`] of [`Stored`] places, which `load` brings onto a backend; `forward` is
//! written once over both.

mod bert;
mod config;
mod fields;
mod gpt2;
mod layout;
mod llama;
mod load;
mod neox;
mod redraw;
mod rope;
mod shapes;
mod store;
mod stored;
mod vars;

pub use config::{Architecture, AttentionBias, ModelConfig, Residual, Rope};
pub use load::{fetch, load, stored};
pub use store::checkpoint;
pub use stored::Stored;

/// The weights of a model on a backend with tensors `T`.
#[derive(Clone, Debug)]
pub struct Model<T> {
    /// Its configuration.
    pub config: ModelConfig,
    /// `(vocab_size, hidden_size)`.
    pub token_embedding: T,
    /// `(max_position_embeddings, hidden_size)`; BERT's constant token type is added in.
    pub position_embedding: Option<T>,
    /// Norm of the embedding (BERT).
    pub embedding_norm: Option<Norm<T>>,
    /// One entry per layer.
    pub blocks: Vec<Block<T>>,
    /// Norm before the output head.
    pub final_norm: Option<Norm<T>>,
    /// `(vocab_size, hidden_size)`; the embedding itself where it is tied, `None` for an encoder.
    pub head: Option<Linear<T>>,
}

/// One transformer layer.
#[derive(Clone, Debug)]
pub struct Block<T> {
    /// norm₁ of [`Residual`].
    pub attention_norm: Norm<T>,
    /// Queries, keys, values and output.
    pub attention: Attention<T>,
    /// norm₂ of [`Residual`].
    pub ffn_norm: Norm<T>,
    /// The feed-forward network.
    pub ffn: Ffn<T>,
}

/// Projections of an attention layer.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub struct Ffn<T> {
    /// The gate of a gated network.
    pub gate: Option<Linear<T>>,
    /// `(intermediate_size, hidden_size)`.
    pub up: Linear<T>,
    /// `(hidden_size, intermediate_size)`.
    pub down: Linear<T>,
}

/// An affine layer: weight `(out, in)`, bias `(1, out)`.
#[derive(Clone, Debug)]
pub struct Linear<T> {
    /// `(out, in)`.
    pub weight: T,
    /// `(1, out)`.
    pub bias: Option<T>,
}

/// A normalisation; weight and bias are `(1, hidden_size)`.
#[derive(Clone, Debug)]
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

impl<T> Model<T> {
    /// The same with what `make` gives for each tensor. A tied head is a tensor of its own here.
    pub fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Model<U>, E> {
        let token_embedding = make(self.token_embedding)?;
        let position_embedding = self.position_embedding.map(&mut *make).transpose()?;
        let embedding_norm = self.embedding_norm.map(|norm| norm.map(make)).transpose()?;
        let blocks = self.blocks.into_iter().map(|block| block.map(make)).collect::<Result<_, E>>()?;
        let final_norm = self.final_norm.map(|norm| norm.map(make)).transpose()?;
        let head = self.head.map(|head| head.map(make)).transpose()?;
        Ok(Model { config: self.config, token_embedding, position_embedding, embedding_norm, blocks, final_norm, head })
    }
}

impl<T> Block<T> {
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

impl<T> Ffn<T> {
    /// The same with what `make` gives for each of its weights and biases.
    pub fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Ffn<U>, E> {
        Ok(Ffn {
            gate: self.gate.map(|gate| gate.map(make)).transpose()?,
            up: self.up.map(make)?,
            down: self.down.map(make)?,
        })
    }
}

impl<T> Linear<T> {
    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Linear<U>, E> {
        Ok(Linear { weight: make(self.weight)?, bias: self.bias.map(make).transpose()? })
    }
}

impl<T> Norm<T> {
    fn map<U, E>(self, make: &mut dyn FnMut(T) -> Result<U, E>) -> Result<Norm<U>, E> {
        Ok(match self {
            Self::Layer { weight, bias, eps } => Norm::Layer { weight: make(weight)?, bias: make(bias)?, eps },
            Self::Rms { weight, eps } => Norm::Rms { weight: make(weight)?, eps },
        })
    }
}
