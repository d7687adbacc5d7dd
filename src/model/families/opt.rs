//! OPT: position rows from 2 on; the 350m model has norms after its sub-layers and an embedding of another width.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Residual, Spelling};
use crate::model::fields::{Fields, MAX_WIDTH};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, ModelParts};

const SPELLING: Spelling = Spelling {
    intermediate_size: "ffn_dim",
    hidden_act: ("activation_function", "relu"),
    tied_by_default: true,
    ..Spelling::COMMON
};

/// Position rows before that of position 0.
const POSITION_OFFSET: usize = 2;

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    fields.only("enable_bias", true)?;
    fields.only("layer_norm_elementwise_affine", true)?;
    // Checkpoints fine-tuned with old versions lack the final norm.
    fields.only("_remove_final_layer_norm", false)?;
    let common = ModelConfig::common(fields, Architecture::Opt, &SPELLING)?;
    Ok(ModelConfig {
        embedding_size: fields.size("word_embed_proj_dim", MAX_WIDTH)?.unwrap_or(common.hidden_size),
        position_offset: POSITION_OFFSET,
        residual: if fields.flag("do_layer_norm_before", true)? { Residual::PreNorm } else { Residual::PostNorm },
        initializer_range: fields.initializer_range("init_std")?,
        ..common
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let (width, narrow) = (config.hidden_size, config.embedding_size);
    let decoder = vars.at_if_there("model", "decoder.embed_tokens.weight").at("decoder");
    let tokens = decoder.at("embed_tokens").embedding(config)?;
    let positions = decoder.at("embed_positions").positions("weight", config)?;
    let projection = |name, outputs, inputs| match narrow == width {
        true => Ok(None),
        false => decoder.at(name).linear(outputs, inputs, false).map(Some),
    };
    let blocks = decoder.at("layers").blocks(config, block)?;
    let final_norm = match config.residual {
        Residual::PostNorm => None,
        _ => Some(decoder.at("final_layer_norm").layer_norm(width, config.norm_eps)?),
    };
    let head = vars.head("lm_head", &tokens, config, parts)?;
    let projection_in = projection("project_in", width, narrow)?;
    let embedding = Embedding { tokens, projection: projection_in, positions: Some(positions), norm: None };
    let projection = projection("project_out", narrow, width)?.filter(|_| parts == ModelParts::WithHead);
    Ok(Model { final_norm, projection, head, ..Model::headless(config, embedding, blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let projection = |name| vars.at("self_attn").at(name).linear(width, width, true);
    let projections = [projection("q_proj")?, projection("k_proj")?, projection("v_proj")?, projection("out_proj")?];
    let ffn = Ffn {
        gate: None,
        up: vars.at("fc1").linear(inner, width, true)?,
        down: vars.at("fc2").linear(width, inner, true)?,
    };
    let norm = |name| vars.at(name).layer_norm(width, eps);
    let norms = [norm("self_attn_layer_norm")?, norm("final_layer_norm")?];
    Ok(Block::plain(norms, Attention::plain(projections, pattern), ffn))
}
