//! Gemma 1 to 3: a scaled embedding, RMSNorm whose scale is stored less 1, a GELU gate; from Gemma 2 on norms after the
//! sub-layers and local layers.

use super::llama;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionBias, AttentionPattern, LocalAttention, ModelConfig, Spelling, activation};
use crate::model::fields::{Fields, MAX_HEADS, MAX_LAYERS, MAX_ROWS};
use crate::model::rope::{Rope, RopeNames, rope};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Block, Embedding, Model, ModelParts};

const SPELLING: Spelling = Spelling {
    hidden_act: ("hidden_act", "gelu_pytorch_tanh"),
    norm_eps: ("rms_norm_eps", 1e-6),
    tied_by_default: true,
    free_head_dim: true,
    ..Spelling::COMMON
};

/// The caps of attention scores and logits, which only Gemma 2 has.
pub(super) const SOFTCAPS: [&str; 2] = ["attn_logit_softcapping", "final_logit_softcapping"];

/// Defaults of `sliding_window` and `query_pre_attn_scalar`.
const DEFAULT_WINDOW: usize = 4096;
const DEFAULT_SCALAR: f64 = 256.0;
/// Default of `sliding_window_pattern`: every so many layers one attends to the whole window.
const DEFAULT_PATTERN: usize = 6;

pub(super) fn config(fields: &Fields, architecture: Architecture) -> Result<ModelConfig> {
    for field in ["use_bidirectional_attention", "attention_bias"] {
        fields.only(field, false)?;
    }
    let common = ModelConfig::common(fields, architecture, &SPELLING)?;
    // Old files of Gemma 1 name the exact GELU, but the models were trained with the approximation.
    let (field, name) = match fields.text("hidden_activation")? {
        Some(name) => ("hidden_activation", name),
        None if common.hidden_act == "gelu" => (SPELLING.hidden_act.0, SPELLING.hidden_act.1),
        None => (SPELLING.hidden_act.0, common.hidden_act.as_str()),
    };
    let (hidden_act, activation) = (name.to_owned(), activation(field, name)?);
    let kv_heads = fields.size("num_key_value_heads", MAX_HEADS)?.unwrap_or(common.num_attention_heads);
    let base = ModelConfig {
        embedding_scale: (common.hidden_size as f64).sqrt() as f32,
        num_key_value_heads: kv_heads,
        hidden_act,
        activation,
        gated_ffn: true,
        ffn_bias: false,
        attention_bias: AttentionBias::None,
        ..common
    };
    if architecture == Architecture::Gemma {
        return Ok(ModelConfig { rope: Some(rope(fields, &RopeNames::COMMON, base.head_dim)?), ..base });
    }
    let scalar = fields.positive("query_pre_attn_scalar")?.unwrap_or(DEFAULT_SCALAR);
    let (global, local) = ropes(fields, architecture, base.head_dim)?;
    Ok(ModelConfig {
        attention_scale: scalar.sqrt().recip(),
        local: local_attention(fields, architecture, (base.num_hidden_layers, local))?,
        rope: Some(global),
        attention_softcap: softcap(fields, architecture, (SOFTCAPS[0], 50.0))?,
        logit_softcap: softcap(fields, architecture, (SOFTCAPS[1], 30.0))?,
        ..base
    })
}

/// The rotary embeddings of global and of local layers.
fn ropes(fields: &Fields, architecture: Architecture, head_dim: usize) -> Result<(Rope, Rope)> {
    if architecture == Architecture::Gemma2 {
        let both = rope(fields, &RopeNames::COMMON, head_dim)?;
        return Ok((both, both));
    }
    let global = RopeNames { default_theta: 1e6, layers: Some("full_attention"), ..RopeNames::COMMON };
    let local = RopeNames {
        theta: &["rope_local_base_freq"],
        layers: Some("sliding_attention"),
        is_scaled: false,
        ..RopeNames::COMMON
    };
    Ok((rope(fields, &global, head_dim)?, rope(fields, &local, head_dim)?))
}

fn local_attention(
    fields: &Fields,
    architecture: Architecture,
    (layers, rope): (usize, Rope),
) -> Result<Option<LocalAttention>> {
    let period = match architecture {
        Architecture::Gemma2 => 2,
        _ => fields.size("sliding_window_pattern", MAX_LAYERS)?.unwrap_or(DEFAULT_PATTERN),
    };
    let default = (1..=layers).map(|layer| layer % period != 0).collect();
    let layers = llama::local_layers(fields, default)?;
    let reach = fields.size("sliding_window", MAX_ROWS)?.unwrap_or(DEFAULT_WINDOW) - 1;
    Ok(layers.contains(&true).then_some(LocalAttention { reach, layers, rope: Some(rope) }))
}

/// A cap of Gemma 2: null means none, absence the default.
fn softcap(fields: &Fields, architecture: Architecture, (field, default): (&str, f32)) -> Result<Option<f32>> {
    match architecture {
        Architecture::Gemma2 if !fields.mentions(field) => Ok(Some(default)),
        Architecture::Gemma2 => Ok(fields.positive(field)?.map(|cap| cap as f32)),
        _ => Ok(None),
    }
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let model = vars.at_if_there("model", "embed_tokens.weight");
    let tokens = model.at("embed_tokens").embedding(config)?;
    let blocks = model.at("layers").blocks(config, block)?;
    let final_norm = model.at("norm").rms_norm_plus_one(config.hidden_size, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, parts)?;
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, Embedding::plain(tokens), blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let mut attention = llama::attention(&vars.at("self_attn"), config, pattern)?;
    if config.architecture == Architecture::Gemma3 {
        let norm = |name| vars.at("self_attn").at(name).rms_norm_plus_one(config.head_dim, config.norm_eps);
        (attention.q_norm, attention.k_norm) = (Some(norm("q_norm")?), Some(norm("k_norm")?));
    }
    let norm = |name| vars.at(name).rms_norm_plus_one(config.hidden_size, config.norm_eps);
    let ffn = llama::ffn(&vars.at("mlp"), config)?;
    if config.architecture == Architecture::Gemma {
        return Ok(Block::plain([norm("input_layernorm")?, norm("post_attention_layernorm")?], attention, ffn));
    }
    Ok(Block {
        attention_norm: norm("input_layernorm")?,
        attention,
        attention_out_norm: Some(norm("post_attention_layernorm")?),
        ffn_norm: norm("pre_feedforward_layernorm")?,
        ffn,
        ffn_out_norm: Some(norm("post_feedforward_layernorm")?),
    })
}
