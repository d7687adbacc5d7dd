//! GPT-2: `Conv1D` weights are stored `(in, out)`, with queries, keys and values concatenated.

use crate::backend::Backend;
use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::config::{AttentionPattern, ModelConfig, Spelling};
use crate::model::fields::Fields;
use crate::model::layout::transposed_columns;
use crate::model::store::CheckpointWriter;
use crate::model::stored::CheckpointTensor;
use crate::model::vars::Vars;
use crate::model::{Attention, Block, Embedding, Ffn, Linear, Model, ModelParts};

const SPELLING: Spelling = Spelling {
    hidden_size: "n_embd",
    intermediate_size: "n_inner",
    default_expansion: Some(4),
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    max_position_embeddings: "n_positions",
    default_positions: None,
    hidden_act: ("activation_function", "gelu_new"),
    norm_eps: ("layer_norm_epsilon", 1e-5),
    tied_by_default: true,
    free_head_dim: false,
};

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    // `reorder_and_upcast_attn` only changes the order of the same operations.
    let common = ModelConfig::common(fields, Architecture::Gpt2, &SPELLING)?;
    Ok(ModelConfig {
        attention_scale: if fields.flag("scale_attn_weights", true)? { common.attention_scale } else { 1.0 },
        scale_by_layer: fields.flag("scale_attn_by_inverse_layer_idx", false)?,
        ..common
    })
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
    let mlp = vars.at("mlp");
    let ffn = Ffn {
        gate: None,
        up: mlp.at("c_fc").conv1d(width, inner, 0..inner)?,
        down: mlp.at("c_proj").conv1d(inner, width, 0..width)?,
    };
    let norms = [vars.at("ln_1").layer_norm(width, eps)?, vars.at("ln_2").layer_norm(width, eps)?];
    Ok(Block::plain(norms, attention(&vars.at("attn"), width, pattern)?, ffn))
}

fn attention(vars: &Vars<'_>, width: usize, pattern: AttentionPattern) -> Result<Attention<CheckpointTensor>> {
    let part = |index: usize| vars.at("c_attn").conv1d(width, 3 * width, index * width..(index + 1) * width);
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    Ok(Attention::plain([q, k, v, vars.at("c_proj").conv1d(width, width, 0..width)?], pattern))
}

pub(super) async fn store<B: Backend>(store: &mut CheckpointWriter<'_, B>, model: &Model<B::Tensor>) -> Result<()> {
    store.matrix("transformer.wte.weight", &model.embedding.tokens).await?;
    if let Some(table) = &model.embedding.positions {
        store.matrix("transformer.wpe.weight", table).await?;
    }
    for (layer, block) in model.blocks.iter().enumerate() {
        let at = format!("transformer.h.{layer}");
        store.norm(format!("{at}.ln_1"), &block.attention_norm).await?;
        let Attention { q, k, v, o, .. } = &block.attention;
        store_conv1d(store, format!("{at}.attn.c_attn"), &[q, k, v]).await?;
        store_conv1d(store, format!("{at}.attn.c_proj"), &[o]).await?;
        store.norm(format!("{at}.ln_2"), &block.ffn_norm).await?;
        store_conv1d(store, format!("{at}.mlp.c_fc"), &[&block.ffn.up]).await?;
        store_conv1d(store, format!("{at}.mlp.c_proj"), &[&block.ffn.down]).await?;
    }
    store.end("transformer.ln_f", "lm_head", model).await
}

/// Stores layers with the same input as one concatenated weight `(inputs, outputs)`.
async fn store_conv1d<B: Backend>(
    store: &mut CheckpointWriter<'_, B>,
    path: String,
    layers: &[&Linear<B::Tensor>],
) -> Result<()> {
    let (mut weight, mut bias) = (Vec::new(), Vec::new());
    for layer in layers {
        weight.extend(store.read(&layer.weight).await?);
        if let Some(values) = &layer.bias {
            bias.extend(store.read(values).await?);
        }
    }
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    store.put(format!("{path}.weight"), &[inputs, outputs], transposed_columns(&weight, inputs, 0..inputs));
    store.put(format!("{path}.bias"), &[outputs], bias);
    Ok(())
}
