//! GPT-NeoX (Pythia): partial rotary embedding, parallel residual; queries, keys and values interleaved by head.

use crate::backend::Backend;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionBias, AttentionPattern, ModelConfig, Residual, Spelling};
use crate::model::fields::Fields;
use crate::model::layout::interleaved;
use crate::model::rope::{RopeNames, rope};
use crate::model::store::CheckpointWriter;
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, ModelParts};

const ROPE: RopeNames = RopeNames {
    theta: &["rotary_emb_base", "rope_theta"],
    partial: &["rotary_pct", "partial_rotary_factor"],
    default_partial: 0.25,
    ..RopeNames::COMMON
};

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    let common = ModelConfig::common(fields, Architecture::GptNeox, &Spelling::COMMON)?;
    let parallel = fields.flag("use_parallel_residual", true)?;
    let biased = fields.flag("attention_bias", true)?;
    Ok(ModelConfig {
        attention_bias: if biased { AttentionBias::All } else { AttentionBias::None },
        rope: Some(rope(fields, &ROPE, common.head_dim)?),
        residual: if parallel { Residual::Parallel } else { Residual::PreNorm },
        ..common
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let gpt_neox = vars.at_if_there("gpt_neox", "embed_in.weight");
    let tokens = gpt_neox.at("embed_in").embedding(config)?;
    let blocks = gpt_neox.at("layers").blocks(config, block)?;
    let final_norm = gpt_neox.at("final_layer_norm").layer_norm(config.hidden_size, config.norm_eps)?;
    let head = vars.head("embed_out", &tokens, config, parts)?;
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, Embedding::plain(tokens), blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let mlp = vars.at("mlp");
    let ffn = Ffn {
        gate: None,
        up: mlp.at("dense_h_to_4h").linear(inner, width, true)?,
        down: mlp.at("dense_4h_to_h").linear(width, inner, true)?,
    };
    let norm = |name| vars.at(name).layer_norm(width, eps);
    let norms = [norm("input_layernorm")?, norm("post_attention_layernorm")?];
    Ok(Block::plain(norms, fused_attention(&vars.at("attention"), config, pattern)?, ffn))
}

/// Queries, keys and values in one layer, interleaved by head.
pub(super) fn fused_attention(
    vars: &Vars<'_>,
    config: &ModelConfig,
    pattern: AttentionPattern,
) -> Result<Attention<CheckpointTensor>> {
    let (width, head_dim) = (config.hidden_size, config.head_dim);
    let has_bias = config.attention_bias == AttentionBias::All;
    let part = |index: usize| vars.at("query_key_value").head_part(index, head_dim, width, has_bias);
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    Ok(Attention::plain([q, k, v, vars.at("dense").linear(width, width, has_bias)?], pattern))
}

pub(super) async fn store<B: Backend>(store: &mut CheckpointWriter<'_, B>, model: &Model<B::Tensor>) -> Result<()> {
    store.matrix("gpt_neox.embed_in.weight", &model.embedding.tokens).await?;
    for (layer, block) in model.blocks.iter().enumerate() {
        let at = format!("gpt_neox.layers.{layer}");
        store.norm(format!("{at}.input_layernorm"), &block.attention_norm).await?;
        store.norm(format!("{at}.post_attention_layernorm"), &block.ffn_norm).await?;
        store_fused(store, format!("{at}.attention.query_key_value"), &block.attention, &model.config).await?;
        store.linear(format!("{at}.attention.dense"), &block.attention.o).await?;
        store.linear(format!("{at}.mlp.dense_h_to_4h"), &block.ffn.up).await?;
        store.linear(format!("{at}.mlp.dense_4h_to_h"), &block.ffn.down).await?;
    }
    store.end("gpt_neox.final_layer_norm", "embed_out", model).await
}

/// Stores queries, keys and values as one layer, interleaved by head.
async fn store_fused<B: Backend>(
    store: &mut CheckpointWriter<'_, B>,
    path: String,
    attention: &Attention<B::Tensor>,
    config: &ModelConfig,
) -> Result<()> {
    let (width, head_dim) = (config.hidden_size, config.head_dim);
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    for layer in [&attention.q, &attention.k, &attention.v] {
        weights.push(store.read(&layer.weight).await?);
        if let Some(bias) = &layer.bias {
            biases.push(store.read(bias).await?);
        }
    }
    store.put(format!("{path}.weight"), &[3 * width, width], interleaved(&weights, head_dim, width));
    if !biases.is_empty() {
        store.put(format!("{path}.bias"), &[3 * width], interleaved(&biases, head_dim, 1));
    }
    Ok(())
}
