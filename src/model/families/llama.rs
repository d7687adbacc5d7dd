//! Llama, Mistral, Qwen2 and Qwen3: RMSNorm, rotary embedding, grouped-query attention, gated network.

use crate::backend::Backend;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionBias, AttentionPattern, LocalAttention, ModelConfig, Spelling};
use crate::model::fields::{Fields, MAX_HEADS, MAX_LAYERS, MAX_ROWS, unsupported};
use crate::model::rope::{RopeNames, rope, unscaled_positions};
use crate::model::store::CheckpointWriter;
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, ModelParts};

const SPELLING: Spelling = Spelling {
    hidden_act: ("hidden_act", "silu"),
    norm_eps: ("rms_norm_eps", 1e-6),
    free_head_dim: true,
    ..Spelling::COMMON
};

/// Default of Mistral, Qwen2 and Qwen3 if `sliding_window` is absent.
const DEFAULT_SLIDING_WINDOW: usize = 4096;

pub(super) fn config(fields: &Fields, architecture: Architecture) -> Result<ModelConfig> {
    let common = ModelConfig::common(fields, architecture, &SPELLING)?;
    let rope = rope(fields, &RopeNames::COMMON, common.head_dim)?;
    if rope.rotary_dim != common.head_dim {
        let hint = "this family rotates all features of a head, use a model where this is 1";
        return Err(unsupported("partial_rotary_factor", rope.rotary_dim as f64 / common.head_dim as f64, hint));
    }
    let positions = common.max_position_embeddings;
    let local = sliding_window(fields, architecture, common.num_hidden_layers)?;
    Ok(ModelConfig {
        num_key_value_heads: key_value_heads(fields, architecture, common.num_attention_heads)?,
        max_position_embeddings: unscaled_positions(fields)?.map_or(positions, |limit| limit.min(positions)),
        local: local.map(|local| LocalAttention { rope: Some(rope), ..local }),
        gated_ffn: true,
        ffn_bias: biased(fields, "mlp_bias", architecture)?,
        attention_bias: match architecture {
            Architecture::Qwen2 => AttentionBias::Inputs,
            _ if biased(fields, "attention_bias", architecture)? => AttentionBias::All,
            _ => AttentionBias::None,
        },
        rope: Some(rope),
        ..common
    })
}

/// Equals the number of query heads if the field is null; only Llama may omit it.
fn key_value_heads(fields: &Fields, architecture: Architecture, heads: usize) -> Result<usize> {
    match fields.size("num_key_value_heads", MAX_HEADS)? {
        Some(kv_heads) => Ok(kv_heads),
        None if architecture == Architecture::Llama || fields.mentions("num_key_value_heads") => Ok(heads),
        None => Err(fields.missing("num_key_value_heads")),
    }
}

/// A bias switch, of which Qwen3 has only that of the attention, Mistral and Qwen2 none.
fn biased(fields: &Fields, field: &str, architecture: Architecture) -> Result<bool> {
    match architecture {
        Architecture::Llama => fields.flag(field, false),
        Architecture::Qwen3 if field == "attention_bias" => fields.flag(field, false),
        // Qwen2 always has biases on queries, keys and values; some of its files repeat that here.
        Architecture::Qwen2 if field == "attention_bias" => fields.flag(field, true),
        _ => fields.only(field, false).map(|()| false),
    }
}

/// The layers with a sliding window, and how far they see, without their rotary embedding.
fn sliding_window(fields: &Fields, architecture: Architecture, layers: usize) -> Result<Option<LocalAttention>> {
    use Architecture::{Mistral, Qwen2, Qwen3};
    let given = fields.size("sliding_window", MAX_ROWS)?;
    let default = (!fields.mentions("sliding_window")).then_some(DEFAULT_SLIDING_WINDOW);
    let window = match architecture {
        Mistral => given.or(default),
        Qwen2 | Qwen3 if fields.flag("use_sliding_window", false)? => given.or(default),
        Qwen2 | Qwen3 => None,
        _ => given,
    };
    let first = match architecture {
        Qwen2 | Qwen3 => fields.count("max_window_layers", MAX_LAYERS)?.unwrap_or(28),
        _ => 0,
    };
    let default = |layer| window.is_some() && layer >= first;
    let layers = local_layers(fields, (0..layers).map(default).collect())?;
    match window {
        Some(window) if layers.contains(&true) => Ok(Some(LocalAttention { reach: window - 1, layers, rope: None })),
        None if layers.contains(&true) => {
            let hint = "sliding_window must say how far such a layer sees";
            Err(unsupported("layer_types", "sliding_attention", hint))
        }
        _ => Ok(None),
    }
}

/// Which layers are local, by `layer_types`, if it is there.
pub(super) fn local_layers(fields: &Fields, default: Vec<bool>) -> Result<Vec<bool>> {
    let types = fields.texts("layer_types")?;
    if types.is_empty() {
        return Ok(default);
    }
    if types.len() != default.len() {
        let hint = format!("it must have one entry for each of the {} layers", default.len());
        return Err(unsupported("layer_types", format!("{} entries", types.len()), hint));
    }
    let is_local = |kind: &&str| match *kind {
        "full_attention" => Ok(false),
        "sliding_attention" => Ok(true),
        other => Err(unsupported("layer_types", other, "supported are full_attention and sliding_attention")),
    };
    types.iter().map(is_local).collect()
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let model = vars.at_if_there("model", "embed_tokens.weight");
    let tokens = model.at("embed_tokens").embedding(config)?;
    let blocks = model.at("layers").blocks(config, block)?;
    let final_norm = model.at("norm").rms_norm(config.hidden_size, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, parts)?;
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, Embedding::plain(tokens), blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, eps) = (config.hidden_size, config.norm_eps);
    let mut attention = attention(&vars.at("self_attn"), config, pattern)?;
    if config.architecture == Architecture::Qwen3 {
        let norm = |name| vars.at("self_attn").at(name).rms_norm(config.head_dim, eps);
        (attention.q_norm, attention.k_norm) = (Some(norm("q_norm")?), Some(norm("k_norm")?));
    }
    let norm = |name| vars.at(name).rms_norm(width, eps);
    let norms = [norm("input_layernorm")?, norm("post_attention_layernorm")?];
    Ok(Block::plain(norms, attention, ffn(&vars.at("mlp"), config)?))
}

pub(super) fn attention(
    vars: &Vars<'_>,
    config: &ModelConfig,
    pattern: AttentionPattern,
) -> Result<Attention<CheckpointTensor>> {
    let width = config.hidden_size;
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let inputs_biased = matches!(config.attention_bias, AttentionBias::Inputs | AttentionBias::All);
    let output_biased = config.attention_bias == AttentionBias::All;
    let input = |name, outputs| vars.at(name).linear(outputs, width, inputs_biased);
    let (q, k, v) = (input("q_proj", queries)?, input("k_proj", keys)?, input("v_proj", keys)?);
    let o = vars.at("o_proj").linear(width, queries, output_biased)?;
    Ok(Attention::plain([q, k, v, o], pattern))
}

pub(super) fn ffn(vars: &Vars<'_>, config: &ModelConfig) -> Result<Ffn<CheckpointTensor>> {
    let (width, inner, biased) = (config.hidden_size, config.intermediate_size, config.ffn_bias);
    Ok(Ffn {
        gate: Some(vars.at("gate_proj").linear(inner, width, biased)?),
        up: vars.at("up_proj").linear(inner, width, biased)?,
        down: vars.at("down_proj").linear(width, inner, biased)?,
    })
}

pub(super) async fn store<B: Backend>(store: &mut CheckpointWriter<'_, B>, model: &Model<B::Tensor>) -> Result<()> {
    store.matrix("model.embed_tokens.weight", &model.embedding.tokens).await?;
    for (layer, block) in model.blocks.iter().enumerate() {
        let at = format!("model.layers.{layer}");
        store.norm(format!("{at}.input_layernorm"), &block.attention_norm).await?;
        store.norm(format!("{at}.post_attention_layernorm"), &block.ffn_norm).await?;
        let (attention, ffn) = (&block.attention, &block.ffn);
        for (name, linear) in [("q", &attention.q), ("k", &attention.k), ("v", &attention.v), ("o", &attention.o)] {
            store.linear(format!("{at}.self_attn.{name}_proj"), linear).await?;
        }
        for (name, linear) in [("up", Some(&ffn.up)), ("down", Some(&ffn.down)), ("gate", ffn.gate.as_ref())] {
            if let Some(linear) = linear {
                store.linear(format!("{at}.mlp.{name}_proj"), linear).await?;
            }
        }
    }
    store.end("model.norm", "lm_head", model).await
}
