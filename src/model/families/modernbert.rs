//! ModernBERT: a pre-norm encoder with rotary embedding, a gated network, fused projections and local layers.

use super::llama;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionBias, AttentionPattern, LocalAttention, ModelConfig, Spelling};
use crate::model::fields::{Fields, MAX_LAYERS, MAX_ROWS};
use crate::model::rope::{RopeNames, rope};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model, Norm};

const SPELLING: Spelling =
    Spelling { hidden_act: ("hidden_activation", "gelu"), norm_eps: ("norm_eps", 1e-5), ..Spelling::COMMON };

const GLOBAL: RopeNames = RopeNames {
    theta: &["global_rope_theta"],
    default_theta: 160_000.0,
    layers: Some("full_attention"),
    ..RopeNames::COMMON
};
const LOCAL: RopeNames =
    RopeNames { theta: &["local_rope_theta"], layers: Some("sliding_attention"), ..RopeNames::COMMON };

/// Default of `local_attention`, the width of a local layer's view in both directions together.
const DEFAULT_LOCAL: usize = 128;
/// Default of `global_attn_every_n_layers`.
const DEFAULT_PERIOD: usize = 3;

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    for field in ["attention_bias", "mlp_bias", "norm_bias"] {
        fields.only(field, false)?;
    }
    let common = ModelConfig::common(fields, Architecture::Modernbert, &SPELLING)?;
    let period = fields.size("global_attn_every_n_layers", MAX_LAYERS)?.unwrap_or(DEFAULT_PERIOD);
    let default = (0..common.num_hidden_layers).map(|layer| layer % period != 0).collect();
    let layers = llama::local_layers(fields, default)?;
    let reach = fields.size("local_attention", MAX_ROWS)?.unwrap_or(DEFAULT_LOCAL) / 2;
    let local = LocalAttention { reach, layers, rope: Some(rope(fields, &LOCAL, common.head_dim)?) };
    Ok(ModelConfig {
        local: local.layers.contains(&true).then_some(local),
        rope: Some(rope(fields, &GLOBAL, common.head_dim)?),
        gated_ffn: true,
        ffn_bias: false,
        attention_bias: AttentionBias::None,
        causal: false,
        tie_word_embeddings: false,
        ..common
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig) -> Result<Model<CheckpointTensor>> {
    let (width, eps) = (config.hidden_size, config.norm_eps);
    let model = vars.at_if_there("model", "embeddings.tok_embeddings.weight");
    let embeddings = model.at("embeddings");
    let norm = Some(embeddings.at("norm").unbiased_layer_norm(width, eps)?);
    let embedding = Embedding { norm, ..Embedding::plain(embeddings.at("tok_embeddings").embedding(config)?) };
    let block = |layer| block(&model.at("layers").at(layer), config, (layer, config.pattern(layer)));
    let blocks = (0..config.num_hidden_layers).map(block).collect::<Result<_>>()?;
    let final_norm = Some(model.at("final_norm").unbiased_layer_norm(width, eps)?);
    Ok(Model { final_norm, ..Model::headless(config, embedding, blocks) })
}

fn block(
    vars: &Vars<'_>,
    config: &ModelConfig,
    (layer, pattern): (usize, AttentionPattern),
) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let attention_norm = match layer {
        0 => Norm::Identity,
        _ => vars.at("attn_norm").unbiased_layer_norm(width, eps)?,
    };
    let (attention, mlp) = (vars.at("attn"), vars.at("mlp"));
    let input =
        |part: usize| attention.at("Wqkv").linear_rows(3 * width, width, part * width..(part + 1) * width, false);
    let projections = [input(0)?, input(1)?, input(2)?, attention.at("Wo").linear(width, width, false)?];
    let half = |rows| mlp.at("Wi").linear_rows(2 * inner, width, rows, false);
    let ffn = Ffn {
        gate: Some(half(0..inner)?),
        up: half(inner..2 * inner)?,
        down: mlp.at("Wo").linear(width, inner, false)?,
    };
    let norms = [attention_norm, vars.at("mlp_norm").unbiased_layer_norm(width, eps)?];
    Ok(Block::plain(norms, Attention::plain(projections, pattern), ffn))
}
