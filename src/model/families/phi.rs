//! Phi (1, 1.5, 2): parallel residual with one norm for both branches, partial rotary embedding, a head with a bias.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Residual, Spelling};
use crate::model::fields::{Fields, MAX_HEADS};
use crate::model::rope::{RopeNames, rope, unscaled_positions};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, ModelParts};

const SPELLING: Spelling = Spelling { hidden_act: ("hidden_act", "gelu_new"), ..Spelling::COMMON };

const ROPE: RopeNames = RopeNames { default_partial: 0.5, ..RopeNames::COMMON };

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    let common = ModelConfig::common(fields, Architecture::Phi, &SPELLING)?;
    let positions = common.max_position_embeddings;
    Ok(ModelConfig {
        num_key_value_heads: fields.size("num_key_value_heads", MAX_HEADS)?.unwrap_or(common.num_attention_heads),
        max_position_embeddings: unscaled_positions(fields)?.map_or(positions, |limit| limit.min(positions)),
        rope: Some(rope(fields, &ROPE, common.head_dim)?),
        residual: Residual::Parallel,
        head_bias: true,
        ..common
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let model = vars.at_if_there("model", "embed_tokens.weight");
    let tokens = model.at("embed_tokens").embedding(config)?;
    let blocks = model.at("layers").blocks(config, block)?;
    let final_norm = model.at("final_layernorm").layer_norm(config.hidden_size, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, parts)?;
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, Embedding::plain(tokens), blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let keys = config.num_key_value_heads * config.head_dim;
    let (attention, mlp) = (vars.at("self_attn"), vars.at("mlp"));
    let projection = |name, outputs| attention.at(name).linear(outputs, width, true);
    let projections = [
        projection("q_proj", width)?,
        projection("k_proj", keys)?,
        projection("v_proj", keys)?,
        projection("dense", width)?,
    ];
    let ffn = Ffn {
        gate: None,
        up: mlp.at("fc1").linear(inner, width, true)?,
        down: mlp.at("fc2").linear(width, inner, true)?,
    };
    let norm = vars.at("input_layernorm").layer_norm(width, config.norm_eps)?;
    Ok(Block::plain([norm.clone(), norm], Attention::plain(projections, pattern), ffn))
}
