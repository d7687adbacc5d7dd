//! The families: reading a configuration, locating a checkpoint's tensors, and writing a checkpoint.

mod bert;
mod bloom;
mod distilbert;
mod gemma;
mod gpt2;
mod gpt_neo;
mod llama;
mod modernbert;
mod neox;
mod opt;
mod phi;

use std::collections::BTreeMap;

use super::architecture::Architecture::{
    self, Bert, Bloom, Distilbert, Gemma, Gemma2, Gemma3, Gpt2, GptNeo, GptNeox, Llama, Mistral, Modernbert, Opt, Phi,
    Qwen2, Qwen3, Roberta,
};
use super::config::ModelConfig;
use super::fields::Fields;
use super::parts::{Model, ModelParts};
use super::store::CheckpointWriter;
use super::stored::CheckpointTensor;
use super::vars::Vars;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::weights::{NewTensor, Weights};

impl ModelConfig {
    /// Reads an untrusted `config.json`.
    ///
    /// # Errors
    /// Names the field that is missing, malformed, out of range or not supported.
    pub fn from_json(json: &str) -> Result<Self> {
        let fields = Fields::parse(json)?;
        let architecture = Architecture::of(&fields)?;
        let known: &[&str] = if architecture == Gemma2 { &gemma::SOFTCAPS } else { &[] };
        fields.refuse_foreign_arithmetic(known)?;
        let config = match architecture {
            Gpt2 => gpt2::config(&fields),
            GptNeo => gpt_neo::config(&fields),
            GptNeox => neox::config(&fields),
            Opt => opt::config(&fields),
            Bloom => bloom::config(&fields),
            Llama | Mistral | Qwen2 | Qwen3 => llama::config(&fields, architecture),
            Phi => phi::config(&fields),
            Gemma | Gemma2 | Gemma3 => gemma::config(&fields, architecture),
            Bert | Roberta => bert::config(&fields, architecture),
            Distilbert => distilbert::config(&fields),
            Modernbert => modernbert::config(&fields),
        }?;
        config.check_sizes()?;
        Ok(config)
    }
}

/// Locates the tensors of the model that `config` describes; only headers have been read. The output head is included
/// only if it is among `parts`.
///
/// # Errors
/// If a tensor is missing, has another shape than `config` implies, or is stored in an unsupported format.
pub fn stored(config: &ModelConfig, weights: &Weights, parts: ModelParts) -> Result<Model<CheckpointTensor>> {
    let vars = Vars::root(weights);
    match config.architecture {
        Gpt2 => gpt2::model(&vars, config, parts),
        GptNeo => gpt_neo::model(&vars, config, parts),
        GptNeox => neox::model(&vars, config, parts),
        Opt => opt::model(&vars, config, parts),
        Bloom => bloom::model(&vars, config, parts),
        Llama | Mistral | Qwen2 | Qwen3 => llama::model(&vars, config, parts),
        Phi => phi::model(&vars, config, parts),
        Gemma | Gemma2 | Gemma3 => gemma::model(&vars, config, parts),
        Bert | Roberta => bert::model(&vars, config),
        Distilbert => distilbert::model(&vars, config),
        Modernbert => modernbert::model(&vars, config),
    }
}

/// All tensors of a decoder's checkpoint, without a tied head.
///
/// # Errors
/// For a family that no model is trained in.
pub async fn checkpoint<B: Backend>(backend: &B, model: &Model<B::Tensor>) -> Result<BTreeMap<String, NewTensor>> {
    let mut store = CheckpointWriter { backend, tensors: BTreeMap::new() };
    match model.config.architecture {
        Gpt2 => gpt2::store(&mut store, model).await,
        GptNeox => neox::store(&mut store, model).await,
        Llama | Mistral | Qwen2 => llama::store(&mut store, model).await,
        other => Err(Error::UnknownArchitecture { found: format!("{other} for writing a checkpoint") }),
    }?;
    Ok(store.tensors)
}
