//! GPT-2: `Conv1D` weights are stored `(in, out)`, with queries, keys and values concatenated.

use super::config::{Architecture, ModelConfig, Spelling};
use super::fields::Fields;
use super::layout::transposed_columns;
use super::store::CheckpointWriter;
use super::stored::CheckpointTensor;
use super::vars::Vars;
use super::{Attention, Block, Embedding, Ffn, Linear, Model};
use crate::backend::Backend;
use crate::error::Result;

const SPELLING: Spelling = Spelling {
    hidden_size: "n_embd",
    intermediate_size: "n_inner",
    default_expansion: Some(4),
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    max_position_embeddings: "n_positions",
    hidden_act: ("activation_function", "gelu_new"),
    norm_eps: ("layer_norm_epsilon", 1e-5),
    tied_by_default: true,
    free_head_dim: false,
};

pub(super) fn config(fields: &Fields) -> Result<ModelConfig> {
    fields.only("scale_attn_weights", true)?;
    fields.only("scale_attn_by_inverse_layer_idx", false)?;
    fields.only("reorder_and_upcast_attn", false)?;
    ModelConfig::common(fields, Architecture::Gpt2, &SPELLING)
}

pub(super) fn model(vars: &Vars<'_>, config: &ModelConfig, need_head: bool) -> Result<Model<CheckpointTensor>> {
    let (width, vocab) = (config.hidden_size, config.vocab_size);
    let transformer = vars.at_if_there("transformer", "wte.weight");
    let tokens = transformer.at("wte").matrix("weight", vocab, width)?;
    let positions = transformer.at("wpe").matrix("weight", config.max_position_embeddings, width)?;
    let mut blocks = Vec::with_capacity(config.num_hidden_layers);
    for layer in 0..config.num_hidden_layers {
        blocks.push(block(&transformer.at("h").at(layer), config)?);
    }
    let final_norm = transformer.at("ln_f").layer_norm(width, config.norm_eps)?;
    let head = vars.head("lm_head", &tokens, config, need_head)?;
    Ok(Model {
        config: config.clone(),
        embedding: Embedding { tokens, positions: Some(positions), norm: None },
        blocks,
        final_norm: Some(final_norm),
        head,
    })
}

fn block(vars: &Vars<'_>, config: &ModelConfig) -> Result<Block<CheckpointTensor>> {
    let (width, inner, eps) = (config.hidden_size, config.intermediate_size, config.norm_eps);
    let mlp = vars.at("mlp");
    Ok(Block {
        attention_norm: vars.at("ln_1").layer_norm(width, eps)?,
        attention: attention(&vars.at("attn"), width)?,
        ffn_norm: vars.at("ln_2").layer_norm(width, eps)?,
        ffn: Ffn {
            gate: None,
            up: mlp.at("c_fc").conv1d(width, inner, 0..inner)?,
            down: mlp.at("c_proj").conv1d(inner, width, 0..width)?,
        },
    })
}

fn attention(vars: &Vars<'_>, width: usize) -> Result<Attention<CheckpointTensor>> {
    let part = |index: usize| vars.at("c_attn").conv1d(width, 3 * width, index * width..(index + 1) * width);
    Ok(Attention { q: part(0)?, k: part(1)?, v: part(2)?, o: vars.at("c_proj").conv1d(width, width, 0..width)? })
}

pub(super) async fn store<B: Backend>(store: &mut CheckpointWriter<'_, B>, model: &Model<B::Tensor>) -> Result<()> {
    store.matrix("transformer.wte.weight", &model.embedding.tokens).await?;
    if let Some(table) = &model.embedding.positions {
        store.matrix("transformer.wpe.weight", table).await?;
    }
    for (layer, block) in model.blocks.iter().enumerate() {
        let at = format!("transformer.h.{layer}");
        store.norm(format!("{at}.ln_1"), &block.attention_norm).await?;
        let Attention { q, k, v, o } = &block.attention;
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
