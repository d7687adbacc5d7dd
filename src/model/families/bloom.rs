//! BLOOM: no position embedding, but scores that fall with the distance (ALiBi); a norm of the embedding; queries, keys
//! and values interleaved by head.

use super::neox::fused_attention;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Spelling};
use crate::model::fields::Fields;
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Block, Embedding, Ffn, Model, ModelParts};

/// Windows of its training; it takes longer ones too.
const POSITIONS: usize = 2048;

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    fields.only("apply_residual_connection_post_layernorm", false)?;
    let either = |new, old| if fields.mentions(old) { old } else { new };
    let spelling = Spelling {
        hidden_size: either("hidden_size", "n_embed"),
        // Always four times the width.
        intermediate_size: "n_inner",
        default_expansion: Some(4),
        num_hidden_layers: either("n_layer", "num_hidden_layers"),
        num_attention_heads: either("n_head", "num_attention_heads"),
        max_position_embeddings: "seq_length",
        default_positions: Some(POSITIONS),
        // No field changes it.
        hidden_act: ("hidden_act", "gelu_pytorch_tanh"),
        norm_eps: ("layer_norm_epsilon", 1e-5),
        tied_by_default: true,
        free_head_dim: false,
    };
    Ok(ModelConfig { alibi: true, ..ModelConfig::common(fields, Architecture::Bloom, &spelling)? })
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let (width, eps) = (config.hidden_size, config.norm_eps);
    let transformer = vars.at_if_there("transformer", "word_embeddings.weight");
    let tokens = transformer.at("word_embeddings").embedding(config)?;
    let norm = transformer.at("word_embeddings_layernorm").layer_norm(width, eps)?;
    let blocks = transformer.at("h").blocks(config, block)?;
    let final_norm = transformer.at("ln_f").layer_norm(width, eps)?;
    let head = vars.head("lm_head", &tokens, config, parts)?;
    let embedding = Embedding { norm: Some(norm), ..Embedding::plain(tokens) };
    Ok(Model { final_norm: Some(final_norm), head, ..Model::headless(config, embedding, blocks) })
}

fn block(vars: &Vars<'_>, config: &ModelConfig, pattern: AttentionPattern) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let mlp = vars.at("mlp");
    let ffn = Ffn {
        gate: None,
        up: mlp.at("dense_h_to_4h").linear(inner, width, true)?,
        down: mlp.at("dense_4h_to_h").linear(width, inner, true)?,
    };
    let norm = |name| vars.at(name).layer_norm(width, eps);
    let norms = [norm("input_layernorm")?, norm("post_attention_layernorm")?];
    Ok(Block::plain(norms, fused_attention(&vars.at("self_attention"), config, pattern)?, ffn))
}
