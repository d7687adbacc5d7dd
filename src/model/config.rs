//! `config.json` in common terms for all families. Every value that would change the arithmetic is checked.

use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::fields::{Fields, MAX_HEADS, MAX_LAYERS, MAX_ROWS, MAX_WIDTH, unsupported};
use super::rope::Rope;
use crate::backend::Activation;
use crate::error::{Error, Result};

/// A configuration in the terms of `config.json`, with family-specific field names resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// `model_type`.
    pub architecture: Architecture,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the rows of the embedding; projected to `hidden_size` where it differs (OPT-350m).
    pub embedding_size: usize,
    /// Factor of the rows of the embedding (Gemma).
    pub embedding_scale: f32,
    /// Inner width of the feed-forward network.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Maximum positions per window.
    pub max_position_embeddings: usize,
    /// Rows of the position table before that of position 0 (OPT, RoBERTa).
    pub position_offset: usize,
    /// Rows of the token type embedding (BERT), else 0.
    pub type_vocab_size: usize,
    /// Name of the activation in the configuration.
    pub hidden_act: String,
    /// The activation function.
    pub activation: Activation,
    /// Whether the feed-forward network has a gate projection in addition to its up projection.
    pub gated_ffn: bool,
    /// Whether the feed-forward network has biases.
    pub ffn_bias: bool,
    /// Which projections of the attention have biases.
    pub attention_bias: AttentionBias,
    /// Factor of the attention scores, usually 1/√head_dim.
    pub attention_scale: f64,
    /// Whether layer l also divides its scores by l + 1 (GPT-2).
    pub scale_by_layer: bool,
    /// Layers with local attention, if there are any.
    pub local: Option<LocalAttention>,
    /// Whether scores fall with the distance of positions (BLOOM, arXiv 2108.12409).
    pub alibi: bool,
    /// c, if attention scores s are capped to c·tanh(s/c) (Gemma 2).
    pub attention_softcap: Option<f32>,
    /// The same for logits.
    pub logit_softcap: Option<f32>,
    /// Epsilon of every norm.
    pub norm_eps: f32,
    /// Rotary position embedding, where the family has it.
    pub rope: Option<Rope>,
    /// How a block adds to the residual stream.
    pub residual: Residual,
    /// Whether attention is causal; also whether there is a next-token head.
    pub causal: bool,
    /// Whether the output head has a bias (Phi).
    pub head_bias: bool,
    /// Whether the output head shares the embedding's weights.
    pub tie_word_embeddings: bool,
    /// Standard deviation of initial weights.
    pub initializer_range: f32,
}

/// Which projections of the attention have biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttentionBias {
    /// None.
    None,
    /// Queries, keys and values.
    Inputs,
    /// Output.
    Output,
    /// Queries, keys, values and output.
    All,
}

/// Layers that attend only to near positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalAttention {
    /// Largest distance to a position that is attended to.
    pub reach: usize,
    /// Whether each layer is local.
    pub layers: Vec<bool>,
    /// Rotary position embedding of local layers.
    pub rope: Option<Rope>,
}

/// What may differ between the attentions of two layers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionPattern {
    /// Factor of the scores.
    pub scale: f64,
    /// Largest distance to a position that is attended to, if limited.
    pub reach: Option<usize>,
    /// Rotary position embedding.
    pub rope: Option<Rope>,
}

/// How attention and feed-forward network add to the residual stream h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Residual {
    /// h += attn(norm₁(h)); h += ffn(norm₂(h)).
    PreNorm,
    /// h += attn(norm₁(h)) + ffn(norm₂(h)).
    Parallel,
    /// h = norm₁(h + attn(h)); h = norm₂(h + ffn(h)).
    PostNorm,
}

impl ModelConfig {
    /// Refuses windows longer than the model's positions.
    pub fn check_window(&self, seq_len: usize) -> Result<()> {
        if seq_len <= self.max_position_embeddings {
            return Ok(());
        }
        let hint = format!("the model takes windows of at most {} positions", self.max_position_embeddings);
        Err(Error::InvalidSetting { field: "--seq-len".into(), value: seq_len.to_string(), hint })
    }

    /// How the attention of `layer` works.
    pub fn pattern(&self, layer: usize) -> AttentionPattern {
        let divisor = if self.scale_by_layer { layer + 1 } else { 1 };
        let scale = self.attention_scale / divisor as f64;
        match &self.local {
            Some(local) if local.layers.get(layer) == Some(&true) => {
                AttentionPattern { scale, reach: Some(local.reach), rope: local.rope }
            }
            _ => AttentionPattern { scale, reach: None, rope: self.rope },
        }
    }

    /// Every rotary embedding that a layer has.
    pub fn ropes(&self) -> impl Iterator<Item = Rope> {
        let local = self.local.as_ref().and_then(|local| local.rope);
        self.rope.into_iter().chain(local.filter(|local| self.rope != Some(*local)))
    }

    /// Columns of the widest activation within a block.
    pub fn widest(&self) -> usize {
        self.hidden_size.max(self.intermediate_size)
    }

    /// Number of weights and biases in one feed-forward network.
    pub fn ffn_parameters(&self) -> usize {
        let (hidden, intermediate) = (self.hidden_size, self.intermediate_size);
        let ups = if self.gated_ffn { 2 } else { 1 };
        let biases = if self.ffn_bias { ups * intermediate + hidden } else { 0 };
        (ups + 1) * hidden * intermediate + biases
    }

    /// The fields that all families share, by a family's names: a causal pre-norm decoder with biases, without gate.
    pub(super) fn common(fields: &Fields, architecture: Architecture, spelling: &Spelling) -> Result<Self> {
        let hidden_size = fields.needed_size(spelling.hidden_size, MAX_WIDTH)?;
        let inner = fields.size(spelling.intermediate_size, MAX_WIDTH)?;
        let inner = inner.or_else(|| spelling.default_expansion.map(|expansion| expansion * hidden_size));
        let heads = fields.needed_size(spelling.num_attention_heads, MAX_HEADS)?;
        let hidden_act = fields.text(spelling.hidden_act.0)?.unwrap_or(spelling.hidden_act.1);
        let head_dim = spelling.head_dim(fields, hidden_size, heads)?;
        let positions = match spelling.default_positions {
            Some(default) => fields.size(spelling.max_position_embeddings, MAX_ROWS)?.unwrap_or(default),
            None => fields.needed_size(spelling.max_position_embeddings, MAX_ROWS)?,
        };
        Ok(Self {
            architecture,
            hidden_size,
            embedding_size: hidden_size,
            embedding_scale: 1.0,
            intermediate_size: inner.ok_or_else(|| fields.missing(spelling.intermediate_size))?,
            num_hidden_layers: fields.needed_size(spelling.num_hidden_layers, MAX_LAYERS)?,
            num_attention_heads: heads,
            num_key_value_heads: heads,
            head_dim,
            vocab_size: fields.needed_size("vocab_size", MAX_ROWS)?,
            max_position_embeddings: positions,
            position_offset: 0,
            type_vocab_size: 0,
            hidden_act: hidden_act.into(),
            activation: activation(spelling.hidden_act.0, hidden_act)?,
            gated_ffn: false,
            ffn_bias: true,
            attention_bias: AttentionBias::All,
            attention_scale: (head_dim as f64).sqrt().recip(),
            scale_by_layer: false,
            local: None,
            alibi: false,
            attention_softcap: None,
            logit_softcap: None,
            norm_eps: fields.epsilon(spelling.norm_eps.0, spelling.norm_eps.1)?,
            rope: None,
            residual: Residual::PreNorm,
            causal: true,
            head_bias: false,
            tie_word_embeddings: fields.flag("tie_word_embeddings", spelling.tied_by_default)?,
            initializer_range: fields.initializer_range("initializer_range")?,
        })
    }

    /// Checks relations between sizes that hold in every family.
    pub(super) fn check_sizes(&self) -> Result<()> {
        let (heads, kv_heads) = (self.num_attention_heads, self.num_key_value_heads);
        if heads as u64 * self.head_dim as u64 > MAX_WIDTH as u64 {
            return Err(unsupported("head_dim", self.head_dim, format!("{heads} heads of this width are too large")));
        }
        if !heads.is_multiple_of(kv_heads) {
            let hint = format!("it must divide the number of attention heads, which is {heads}");
            return Err(unsupported("num_key_value_heads", kv_heads, hint));
        }
        // A network must be addressable on platforms where usize has 32 bits.
        let weights = 3 * (self.hidden_size as u64 + 1) * (self.intermediate_size as u64 + 1);
        if weights > u64::from(u32::MAX) {
            let hint = format!("with a hidden size of {} one network would not fit into memory", self.hidden_size);
            return Err(unsupported("intermediate_size", self.intermediate_size, hint));
        }
        Ok(())
    }
}

/// A family's names of the common fields, and their defaults.
pub(super) struct Spelling {
    pub(super) hidden_size: &'static str,
    pub(super) intermediate_size: &'static str,
    /// Default of `intermediate_size` / `hidden_size`, if the family has one.
    pub(super) default_expansion: Option<usize>,
    pub(super) num_hidden_layers: &'static str,
    pub(super) num_attention_heads: &'static str,
    pub(super) max_position_embeddings: &'static str,
    /// Default of `max_position_embeddings`, if the family has one.
    pub(super) default_positions: Option<usize>,
    pub(super) hidden_act: (&'static str, &'static str),
    pub(super) norm_eps: (&'static str, f64),
    pub(super) tied_by_default: bool,
    /// Whether `head_dim` may differ from `hidden_size` / `num_attention_heads`.
    pub(super) free_head_dim: bool,
}

impl Spelling {
    /// The names that most families use.
    pub(super) const COMMON: Self = Self {
        hidden_size: "hidden_size",
        intermediate_size: "intermediate_size",
        default_expansion: None,
        num_hidden_layers: "num_hidden_layers",
        num_attention_heads: "num_attention_heads",
        max_position_embeddings: "max_position_embeddings",
        default_positions: None,
        hidden_act: ("hidden_act", "gelu"),
        norm_eps: ("layer_norm_eps", 1e-5),
        tied_by_default: false,
        free_head_dim: false,
    };

    fn head_dim(&self, fields: &Fields, hidden_size: usize, heads: usize) -> Result<usize> {
        let given = fields.size("head_dim", MAX_WIDTH)?;
        let even_share = hidden_size.is_multiple_of(heads).then_some(hidden_size / heads);
        match (given, even_share) {
            (Some(given), _) if self.free_head_dim => Ok(given),
            (Some(given), Some(share)) if given != share => {
                Err(unsupported("head_dim", given, format!("in this family it must be {share}")))
            }
            (_, Some(share)) => Ok(share),
            (_, None) => Err(unsupported(
                self.num_attention_heads,
                heads,
                format!("it must divide {}, which is {hidden_size}", self.hidden_size),
            )),
        }
    }
}

/// Activation by its name in a configuration; a function may have several names.
pub(super) fn activation(field: &str, name: &str) -> Result<Activation> {
    match name {
        "gelu" | "gelu_python" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_fast" | "gelu_accurate" | "gelu_pytorch_tanh" | "gelu_python_tanh" => {
            Ok(Activation::GeluTanh)
        }
        "quick_gelu" => Ok(Activation::QuickGelu),
        "relu" => Ok(Activation::Relu),
        "relu2" => Ok(Activation::ReluSquared),
        "silu" | "swish" => Ok(Activation::Silu),
        "tanh" => Ok(Activation::Tanh),
        "sigmoid" => Ok(Activation::Sigmoid),
        "linear" => Ok(Activation::Identity),
        _ => Err(unsupported(
            field,
            name,
            "supported are gelu, gelu_new, gelu_fast, gelu_accurate, gelu_pytorch_tanh, gelu_python, gelu_python_tanh, \
             quick_gelu, relu, relu2, silu, swish, tanh, sigmoid and linear",
        )),
    }
}
