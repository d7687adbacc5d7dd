//! GPT-NeoX (Pythia): partial rotary embedding, parallel residual, queries, keys and values interleaved by head.

use super::config::{Architecture, AttentionBias, ModelConfig, Residual, Spelling};
use super::fields::Fields;
use super::layout::interleaved_part;
use super::rope::{RopeNames, rope};
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
            weight: fused.upload("weight", width, &weight)?,
            bias: bias.map(|bias| fused.upload("bias", 1, &bias)).transpose()?,
        })
    };
    let o = vars.at("dense").linear(width, width, has_bias).await?;
    Ok(Attention { q: part(0)?, k: part(1)?, v: part(2)?, o })
}
