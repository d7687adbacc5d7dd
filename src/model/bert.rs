//! BERT: an encoder that normalises after each residual addition and has no next-token head.

use super::config::{Architecture, ModelConfig, Residual, Spelling};
use super::fields::{Fields, MAX_ROWS};
use super::vars::Vars;
use super::{Attention, Block, Ffn, Model};
use crate::backend::Backend;
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

pub(super) async fn model<B: Backend>(vars: &Vars<'_, B>, config: &ModelConfig) -> Result<Model<B::Tensor>> {
    let bert = vars.at_if_there("bert", "embeddings.word_embeddings.weight");
    let embeddings = bert.at("embeddings");
    let words = embeddings.at("word_embeddings");
    let token_embedding = words.matrix("weight", config.vocab_size, config.hidden_size).await?;
    let position_embedding = positions(&embeddings, config).await?;
    let embedding_norm = embeddings.at("LayerNorm").layer_norm(config.hidden_size, config.norm_eps).await?;
    let mut blocks = Vec::with_capacity(config.num_hidden_layers);
    for layer in 0..config.num_hidden_layers {
        blocks.push(block(&bert.at("encoder.layer").at(layer), config).await?);
    }
    Ok(Model {
        config: config.clone(),
        token_embedding,
        position_embedding: Some(position_embedding),
        embedding_norm: Some(embedding_norm),
        blocks,
        final_norm: None,
        head: None,
    })
}

/// The position table with the embedding of token type 0, which every token of a window has, added to each row.
async fn positions<B: Backend>(vars: &Vars<'_, B>, config: &ModelConfig) -> Result<B::Tensor> {
    let (rows, width) = (config.max_position_embeddings, config.hidden_size);
    let types = vars.at("token_type_embeddings").values("weight", &[config.type_vocab_size, width]).await?;
    let table = vars.at("position_embeddings");
    let mut positions = table.values("weight", &[rows, width]).await?;
    for row in positions.chunks_exact_mut(width) {
        for (position, token_type) in row.iter_mut().zip(&types) {
            *position += token_type;
        }
    }
    table.upload("weight", rows, &positions)
}

async fn block<B: Backend>(vars: &Vars<'_, B>, config: &ModelConfig) -> Result<Block<B::Tensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let attention = vars.at("attention");
    let inputs = attention.at("self");
    let output = attention.at("output");
    Ok(Block {
        attention: Attention {
            q: inputs.at("query").linear(width, width, true).await?,
            k: inputs.at("key").linear(width, width, true).await?,
            v: inputs.at("value").linear(width, width, true).await?,
            o: output.at("dense").linear(width, width, true).await?,
        },
        attention_norm: output.at("LayerNorm").layer_norm(width, eps).await?,
        ffn: Ffn {
            gate: None,
            up: vars.at("intermediate.dense").linear(inner, width, true).await?,
            down: vars.at("output.dense").linear(width, inner, true).await?,
        },
        ffn_norm: vars.at("output.LayerNorm").layer_norm(width, eps).await?,
    })
}
