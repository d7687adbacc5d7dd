//! Model families as data: what a configuration says and which checkpoint tensor plays which part.
//!
//! No arithmetic here: a family file (`gpt2`, `neox`, `llama`, `bert`) maps its `config.json` onto [`ModelConfig`]
//! and its checkpoint names onto [`Model`]; `forward` is written once over both.

use crate::backend::Activation;

/// A configuration in the terms of `config.json`, families' own spellings resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// `model_type`.
    pub architecture: Architecture,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward network.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Longest window the model can take.
    pub max_position_embeddings: usize,
    /// Activation as the configuration spells it.
    pub hidden_act: String,
    /// Activation as it is computed.
    pub activation: Activation,
    /// Epsilon of every norm.
    pub norm_eps: f32,
    /// Rotary position embedding, where the family has it.
    pub rope: Option<Rope>,
    /// How a block adds to the residual stream.
    pub residual: Residual,
    /// Whether positions see only those before them; also whether there is a next-token head.
    pub causal: bool,
    /// Whether the output head is the embedding.
    pub tie_word_embeddings: bool,
    /// Standard deviation of initial weights.
    pub initializer_range: f32,
}

/// Supported values of `model_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// `gpt2`.
    Gpt2,
    /// `gpt_neox`.
    GptNeox,
    /// `llama`.
    Llama,
    /// `mistral`.
    Mistral,
    /// `qwen2`.
    Qwen2,
    /// `bert`.
    Bert,
}

/// Rotary position embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Leading features of every head that turn.
    pub rotary_dim: usize,
}

/// How attention and feed-forward network add to the residual stream h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// h += attn(norm₁(h)); h += ffn(norm₂(h)).
    PreNorm,
    /// h += attn(norm₁(h)) + ffn(norm₂(h)).
    Parallel,
    /// h = norm₁(h + attn(h)); h = norm₂(h + ffn(h)).
    PostNorm,
}

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
