//! GPT-Neo (TinyStories): attention scores are not scaled, and some layers attend only to near positions.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionBias, AttentionPattern, LocalAttention, ModelConfig, Spelling};
use crate::model::fields::{Fields, MAX_ROWS, unsupported};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, ModelParts};

const SPELLING: Spelling = Spelling {
    default_expansion: Some(4),
    num_hidden_layers: "num_layers",
    num_attention_heads: "num_heads",
    hidden_act: ("activation_function", "gelu_new"),
    norm_eps: ("layer_norm_epsilon", 1e-5),
    tied_by_default: true,
    ..Spelling::COMMON
};

/// Default of `window_size`.
const DEFAULT_WINDOW: usize = 256;

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    let common = ModelConfig::common(fields, Architecture::GptNeo, &SPELLING)?;
    let reach = fields.size("window_size", MAX_ROWS)?.unwrap_or(DEFAULT_WINDOW) - 1;
    let layers = local_layers(fields, common.num_hidden_layers)?;
    let local = layers.contains(&true).then_some(LocalAttention { reach, layers, rope: None });
    Ok(ModelConfig { attention_scale: 1.0, attention_bias: AttentionBias::Output, local, ..common })
}

/// Whether each layer is local: by `attention_layers`, else by `attention_types`, a list of patterns and how often each
/// is repeated.
fn local_layers(fields: &Fields, layers: usize) -> Result<Vec<bool>> {
    let kinds = match fields.texts("attention_layers")? {
        kinds if kinds.is_empty() => fields.repeated_texts("attention_types", layers)?,
        kinds => kinds,
    };
    if kinds.is_empty() {
        return Ok((0..layers).map(|layer| layer % 2 == 1).collect());
    }
    if kinds.len() != layers {
        let hint = format!("it must describe each of the {layers} layers");
        return Err(unsupported("attention_types", format!("{} layers", kinds.len()), hint));
    }
    let is_local = |kind: &&str| match *kind {
        "global" => Ok(false),
        "local" => Ok(true),
        other => Err(unsupported("attention_types", other, "supported are global and local")),
    };
    kinds.iter().map(is_local).collect()
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let transformer = vars.at_if_there("transformer", "wte.weight");
    let tokens = transformer.at("wte").embedding(config)?;
    let positions = transformer.at("wpe").positions("weight", config)?;
    let blocks = transformer.at("h").blocks(config, block)?;
    let final_norm = transformer.at("ln_f").layer_norm(config.hidden_size, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, parts)?;
    let embedding = Embedding { positions: Some(positions), ..Embedding::plain(tokens) };
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, embedding, blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let (attention, mlp) = (vars.at("attn.attention"), vars.at("mlp"));
    let projection = |name, has_bias| attention.at(name).linear(width, width, has_bias);
    let projections = [
        projection("q_proj", false)?,
        projection("k_proj", false)?,
        projection("v_proj", false)?,
        projection("out_proj", true)?,
    ];
    let ffn = Ffn {
        gate: None,
        up: mlp.at("c_fc").linear(inner, width, true)?,
        down: mlp.at("c_proj").linear(width, inner, true)?,
    };
    let norms = [vars.at("ln_1").layer_norm(width, eps)?, vars.at("ln_2").layer_norm(width, eps)?];
    Ok(Block::plain(norms, Attention::plain(projections, pattern), ffn))
}
