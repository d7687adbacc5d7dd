//! Llama, Mistral and Qwen2: RMSNorm, rotary embedding, grouped-query attention, gated network.

use super::config::{Architecture, AttentionBias, ModelConfig, Spelling};
use super::fields::{Fields, MAX_HEADS, MAX_ROWS, unsupported};
use super::rope::{RopeNames, rope};
use super::store::CheckpointWriter;
use super::stored::CheckpointTensor;
use super::vars::Vars;
use super::{Attention, Block, Embedding, Ffn, Model};
use crate::backend::Backend;
use crate::error::Result;

const SPELLING: Spelling = Spelling {
    hidden_act: ("hidden_act", "silu"),
    norm_eps: ("rms_norm_eps", 1e-6),
    free_head_dim: true,
    ..Spelling::COMMON
};

const ROPE: RopeNames = RopeNames { theta: &[], partial: &[], default_partial: 1.0 };

/// Default of Mistral and Qwen2 if `sliding_window` is absent.
const DEFAULT_SLIDING_WINDOW: usize = 4096;

pub(super) fn config(fields: &Fields, architecture: Architecture) -> Result<ModelConfig> {
    let common = ModelConfig::common(fields, architecture, &SPELLING)?;
    let rope = rope(fields, &ROPE, common.head_dim)?;
    if rope.rotary_dim != common.head_dim {
        let hint = "this family rotates all features of a head, use a model where this is 1";
        return Err(unsupported("partial_rotary_factor", rope.rotary_dim as f64 / common.head_dim as f64, hint));
    }
    Ok(ModelConfig {
        num_key_value_heads: key_value_heads(fields, architecture, common.num_attention_heads)?,
        sliding_window: sliding_window(fields, architecture)?,
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

/// A bias switch, which among these families only Llama has.
fn biased(fields: &Fields, field: &str, architecture: Architecture) -> Result<bool> {
    match architecture {
        Architecture::Llama => fields.flag(field, false),
        // Qwen2 always has biases on queries, keys and values; some of its files repeat that here.
        Architecture::Qwen2 if field == "attention_bias" => fields.flag(field, true),
        _ => fields.only(field, false).map(|()| false),
    }
}

/// The smallest attention window of any layer.
fn sliding_window(fields: &Fields, architecture: Architecture) -> Result<Option<usize>> {
    let given = fields.size("sliding_window", MAX_ROWS)?;
    let default = (!fields.mentions("sliding_window")).then_some(DEFAULT_SLIDING_WINDOW);
    let window = match architecture {
        Architecture::Mistral => given.or(default),
        Architecture::Qwen2 if fields.flag("use_sliding_window", false)? => given.or(default),
        Architecture::Qwen2 => None,
        _ => given,
    };
    for kind in fields.texts("layer_types")? {
        match (kind, window) {
            ("full_attention", _) | ("sliding_attention", Some(_)) => {}
            ("sliding_attention", None) => {
                return Err(unsupported("layer_types", kind, "sliding_window must say how far such a layer sees"));
            }
            _ => return Err(unsupported("layer_types", kind, "use a model with full attention in every layer")),
        }
    }
    Ok(window)
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, need_head: bool) -> Result<Model<CheckpointTensor>> {
    let (width, vocab) = (config.hidden_size, config.vocab_size);
    let model = vars.at_if_there("model", "embed_tokens.weight");
    let tokens = model.at("embed_tokens").matrix("weight", vocab, width)?;
    let mut blocks = Vec::with_capacity(config.num_hidden_layers);
    for layer in 0..config.num_hidden_layers {
        blocks.push(block(&model.at("layers").at(layer), config)?);
    }
    let final_norm = model.at("norm").rms_norm(width, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, need_head)?;
    Ok(Model {
        config: config.clone(),
        embedding: Embedding { tokens, positions: None, norm: None },
        blocks,
        final_norm: Some(final_norm),
        head,
    })
}

fn block(vars: &Vars<'_>, config: &ModelConfig) -> Result<Block<CheckpointTensor>> {
    let (width, eps) = (config.hidden_size, config.norm_eps);
    Ok(Block {
        attention_norm: vars.at("input_layernorm").rms_norm(width, eps)?,
        attention: attention(&vars.at("self_attn"), config)?,
        ffn_norm: vars.at("post_attention_layernorm").rms_norm(width, eps)?,
        ffn: ffn(&vars.at("mlp"), config)?,
    })
}

fn attention(vars: &Vars<'_>, config: &ModelConfig) -> Result<Attention<CheckpointTensor>> {
    let width = config.hidden_size;
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let inputs_biased = config.attention_bias != AttentionBias::None;
    let output_biased = config.attention_bias == AttentionBias::All;
    Ok(Attention {
        q: vars.at("q_proj").linear(queries, width, inputs_biased)?,
        k: vars.at("k_proj").linear(keys, width, inputs_biased)?,
        v: vars.at("v_proj").linear(keys, width, inputs_biased)?,
        o: vars.at("o_proj").linear(width, queries, output_biased)?,
    })
}

fn ffn(vars: &Vars<'_>, config: &ModelConfig) -> Result<Ffn<CheckpointTensor>> {
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
