//! GPT-NeoX (Pythia): partial rotary embedding, parallel residual, queries, keys and values interleaved by head.

use super::config::{Architecture, AttentionBias, ModelConfig, Residual, Spelling};
use super::fields::Fields;
use super::layout::{interleaved, interleaved_part};
use super::rope::{RopeNames, rope};
use super::store::Store;
use super::vars::Vars;
use super::{Attention, Block, Ffn, Linear, Model};
use crate::backend::Backend;
use crate::error::Result;

const ROPE: RopeNames = RopeNames { theta: &["rotary_emb_base"], partial: &["rotary_pct"], default_partial: 0.25 };

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    fields.only("is_decoder", false)?;
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

pub(super) async fn model<B: Backend>(
    vars: &Vars<'_, B>,
    config: &ModelConfig,
    need_head: bool,
) -> Result<Model<B::Tensor>> {
    let (width, vocab) = (config.hidden_size, config.vocab_size);
    let gpt_neox = vars.at_if_there("gpt_neox", "embed_in.weight");
    let token_embedding = gpt_neox.at("embed_in").matrix("weight", vocab, width).await?;
    let mut blocks = Vec::with_capacity(config.num_hidden_layers);
    for layer in 0..config.num_hidden_layers {
        blocks.push(block(&gpt_neox.at("layers").at(layer), config).await?);
    }
    let final_norm = gpt_neox.at("final_layer_norm").layer_norm(width, config.norm_eps).await?;
    let head = vars.head("embed_out", &token_embedding, config, need_head).await?;
    Ok(Model {
        config: config.clone(),
        token_embedding,
        position_embedding: None,
        embedding_norm: None,
        blocks,
        final_norm: Some(final_norm),
        head,
    })
}

async fn block<B: Backend>(vars: &Vars<'_, B>, config: &ModelConfig) -> Result<Block<B::Tensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let mlp = vars.at("mlp");
    Ok(Block {
        attention_norm: vars.at("input_layernorm").layer_norm(width, eps).await?,
        attention: attention(&vars.at("attention"), config).await?,
        ffn_norm: vars.at("post_attention_layernorm").layer_norm(width, eps).await?,
        ffn: Ffn {
            gate: None,
            up: mlp.at("dense_h_to_4h").linear(inner, width, true).await?,
            down: mlp.at("dense_4h_to_h").linear(width, inner, true).await?,
        },
    })
}

async fn attention<B: Backend>(vars: &Vars<'_, B>, config: &ModelConfig) -> Result<Attention<B::Tensor>> {
    let (width, head_dim) = (config.hidden_size, config.head_dim);
    let has_bias = config.attention_bias == AttentionBias::All;
    let fused = vars.at("query_key_value");
    let weight = fused.values("weight", &[3 * width, width]).await?;
    let bias = if has_bias { Some(fused.values("bias", &[3 * width]).await?) } else { None };
    let part = |index: usize| {
        let weight = interleaved_part(&weight, 3, index, head_dim, width);
        let bias = bias.as_ref().map(|bias| interleaved_part(bias, 3, index, head_dim, 1));
        Ok(Linear {
            weight: fused.upload_stored("weight", width, &weight)?,
            bias: bias.map(|bias| fused.upload("bias", 1, &bias)).transpose()?,
        })
    };
    let o = vars.at("dense").linear(width, width, has_bias).await?;
    Ok(Attention { q: part(0)?, k: part(1)?, v: part(2)?, o })
}

pub(super) async fn store<B: Backend>(store: &mut Store<'_, B>, model: &Model<B::Tensor>) -> Result<()> {
    store.matrix("gpt_neox.embed_in.weight", &model.token_embedding).await?;
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

/// Queries, keys and values as one layer, interleaved by head.
async fn store_fused<B: Backend>(
    store: &mut Store<'_, B>,
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
