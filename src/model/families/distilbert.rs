//! DistilBERT: BERT without token types, under other names.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Residual, Spelling};
use crate::model::fields::Fields;
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model};

const SPELLING: Spelling = Spelling {
    hidden_size: "dim",
    intermediate_size: "hidden_dim",
    num_hidden_layers: "n_layers",
    num_attention_heads: "n_heads",
    hidden_act: ("activation", "gelu"),
    // No field changes it.
    norm_eps: ("layer_norm_eps", 1e-12),
    ..Spelling::COMMON
};

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    Ok(ModelConfig {
        residual: Residual::PostNorm,
        causal: false,
        tie_word_embeddings: false,
        ..ModelConfig::common(fields, Architecture::Distilbert, &SPELLING)?
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig) -> Result<Model<CheckpointTensor>> {
    let model = vars.at_if_there("distilbert", "embeddings.word_embeddings.weight");
    let embeddings = model.at("embeddings");
    let embedding = Embedding {
        tokens: embeddings.at("word_embeddings").embedding(config)?,
        projection: None,
        positions: Some(embeddings.positions("position_embeddings.weight", config)?),
        norm: Some(embeddings.at("LayerNorm").layer_norm(config.hidden_size, config.norm_eps)?),
    };
    let blocks = model.at("transformer.layer").blocks(config, block)?;
    Ok(Model::headless(config, embedding, blocks))
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let (attention, network) = (vars.at("attention"), vars.at("ffn"));
    let projection = |name| attention.at(name).linear(width, width, true);
    let projections = [projection("q_lin")?, projection("k_lin")?, projection("v_lin")?, projection("out_lin")?];
    let ffn = Ffn {
        gate: None,
        up: network.at("lin1").linear(inner, width, true)?,
        down: network.at("lin2").linear(width, inner, true)?,
    };
    let norms =
        [vars.at("sa_layer_norm").layer_norm(width, eps)?, vars.at("output_layer_norm").layer_norm(width, eps)?];
    Ok(Block::plain(norms, Attention::plain(projections, pattern), ffn))
}
