//! BERT: a post-norm encoder without a next-token head.

use super::config::{Architecture, ModelConfig, Residual, Spelling};
use super::fields::{Fields, MAX_ROWS};
use super::stored::CheckpointTensor;
use super::vars::Vars;
use super::{Attention, Block, Embedding, Ffn, Model};
use crate::error::Result;

const SPELLING: Spelling = Spelling { norm_eps: ("layer_norm_eps", 1e-12), ..Spelling::COMMON };

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    fields.only("position_embedding_type", "absolute")?;
    fields.only("is_decoder", false)?;
    Ok(ModelConfig {
        type_vocab_size: fields.needed_size("type_vocab_size", MAX_ROWS)?,
        residual: Residual::PostNorm,
        causal: false,
        tie_word_embeddings: false,
        ..ModelConfig::common(fields, Architecture::Bert, &SPELLING)?
    })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig) -> Result<Model<CheckpointTensor>> {
    let bert = vars.at_if_there("bert", "embeddings.word_embeddings.weight");
    let embeddings = bert.at("embeddings");
    let words = embeddings.at("word_embeddings");
    let embedding = Embedding {
        tokens: words.matrix("weight", config.vocab_size, config.hidden_size)?,
        positions: Some(positions(&embeddings, config)?),
        norm: Some(embeddings.at("LayerNorm").layer_norm(config.hidden_size, config.norm_eps)?),
    };
    let mut blocks = Vec::with_capacity(config.num_hidden_layers);
    for layer in 0..config.num_hidden_layers {
        blocks.push(block(&bert.at("encoder.layer").at(layer), config)?);
    }
    Ok(Model { config: config.clone(), embedding, blocks, final_norm: None, head: None })
}

/// The position embeddings plus the embedding of token type 0, which every token of a window has.
fn positions(vars: &Vars<'_>, config: &ModelConfig) -> Result<CheckpointTensor> {
    let positions = ("position_embeddings.weight", config.max_position_embeddings);
    let types = ("token_type_embeddings.weight", config.type_vocab_size);
    vars.plus_first_row(positions, types, config.hidden_size)
}

fn block(vars: &Vars<'_>, config: &ModelConfig) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let attention = vars.at("attention");
    let inputs = attention.at("self");
    let output = attention.at("output");
    Ok(Block {
        attention: Attention {
            q: inputs.at("query").linear(width, width, true)?,
            k: inputs.at("key").linear(width, width, true)?,
            v: inputs.at("value").linear(width, width, true)?,
            o: output.at("dense").linear(width, width, true)?,
        },
        attention_norm: output.at("LayerNorm").layer_norm(width, eps)?,
        ffn: Ffn {
            gate: None,
            up: vars.at("intermediate.dense").linear(inner, width, true)?,
            down: vars.at("output.dense").linear(width, inner, true)?,
        },
        ffn_norm: vars.at("output.LayerNorm").layer_norm(width, eps)?,
    })
}
