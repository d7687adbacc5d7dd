//! Model families as data: what a configuration says and which checkpoint tensor plays which part.
//!
//! No arithmetic here: a family file (`gpt2`, `neox`, `llama`, `bert`) maps its `config.json` onto [`ModelConfig`]
//! and its checkpoint names onto [`Model`]; `forward` is written once over both.

mod bert;
mod config;
mod fields;
mod gpt2;
mod layout;
mod llama;
mod load;
mod neox;
mod places;
mod redraw;
mod rope;
mod vars;

pub use config::{Architecture, AttentionBias, ModelConfig, Residual, Rope};
pub use load::load;
pub use places::{FfnPlace, Places};

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

impl<T> Ffn<T> {
    /// The same with what `make` gives for each of its weights and biases.
    pub fn with_weights<E>(self, make: &mut dyn FnMut(T) -> Result<T, E>) -> Result<Self, E> {
        Ok(Self {
            gate: self.gate.map(|gate| gate.with_weights(make)).transpose()?,
            up: self.up.with_weights(make)?,
            down: self.down.with_weights(make)?,
        })
    }
}

impl<T> Linear<T> {
    fn with_weights<E>(self, make: &mut dyn FnMut(T) -> Result<T, E>) -> Result<Self, E> {
        Ok(Self { weight: make(self.weight)?, bias: self.bias.map(make).transpose()? })
    }
}
