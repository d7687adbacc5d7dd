//! BERT and RoBERTa: post-norm encoders without a next-token head.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Residual, Spelling};
use crate::model::fields::{Fields, MAX_ROWS, unsupported};
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Model};

const SPELLING: Spelling = Spelling { norm_eps: ("layer_norm_eps", 1e-12), ..Spelling::COMMON };

pub(super) fn config(fields: &Fields, architecture: Architecture) -> Result<ModelConfig> {
    fields.only("position_embedding_type", "absolute")?;
    fields.only("is_decoder", false)?;
    let common = ModelConfig::common(fields, architecture, &SPELLING)?;
    let rows = common.max_position_embeddings;
    // RoBERTa counts positions from the row after that of the padding token.
    let offset = match architecture {
        Architecture::Roberta => fields.count("pad_token_id", MAX_ROWS)?.unwrap_or(1) + 1,
        _ => 0,
    };
    if offset >= rows {
        let hint = format!("it must be above the {offset} rows of padding");
        return Err(unsupported("max_position_embeddings", rows, hint));
    }
    Ok(ModelConfig {
        type_vocab_size: fields.needed_size("type_vocab_size", MAX_ROWS)?,
        max_position_embeddings: rows - offset,
        position_offset: offset,
        residual: Residual::PostNorm,
        causal: false,
        tie_word_embeddings: false,
        ..common
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig) -> Result<Model<CheckpointTensor>> {
    let bert = vars.at_if_there(config.architecture.name(), "embeddings.word_embeddings.weight");
    let embeddings = bert.at("embeddings");
    let (width, types) = (config.hidden_size, "token_type_embeddings.weight");
    let embedding = Embedding {
        tokens: embeddings.at("word_embeddings").embedding(config)?,
        projection: None,
        positions: Some(embeddings.typed_positions("position_embeddings.weight", types, config)?),
        norm: Some(embeddings.at("LayerNorm").layer_norm(width, config.norm_eps)?),
    };
    let blocks = bert.at("encoder.layer").blocks(config, block)?;
    Ok(Model::headless(config, embedding, blocks))
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let attention = vars.at("attention");
    let output = attention.at("output");
    let input = |name| attention.at("self").at(name).linear(width, width, true);
    let projections = [input("query")?, input("key")?, input("value")?, output.at("dense").linear(width, width, true)?];
    let ffn = Ffn {
        gate: None,
        up: vars.at("intermediate.dense").linear(inner, width, true)?,
        down: vars.at("output.dense").linear(width, inner, true)?,
    };
    let norms = [output.at("LayerNorm").layer_norm(width, eps)?, vars.at("output.LayerNorm").layer_norm(width, eps)?];
    Ok(Block::plain(norms, Attention::plain(projections, pattern), ffn))
}
