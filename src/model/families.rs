//! The choice of family: whose file reads a configuration, finds the tensors of a checkpoint, and writes one.

use std::collections::BTreeMap;

use super::config::{Architecture, ModelConfig};
use super::fields::Fields;
use super::parts::Model;
use super::store::CheckpointWriter;
use super::stored::CheckpointTensor;
use super::vars::Vars;
use super::{bert, gpt2, llama, neox};
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
        fields.refuse_foreign_arithmetic()?;
        let config = match architecture {
            Architecture::Gpt2 => gpt2::config(&fields),
            Architecture::GptNeox => neox::config(&fields),
            Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => llama::config(&fields, architecture),
            Architecture::Bert => bert::config(&fields),
        }?;
        config.check_sizes()?;
        Ok(config)
    }
}

/// Where the tensors of the model that `config` describes lie. Nothing but headers has been read for it.
///
/// The output head is part of it only where `need_head`.
///
/// # Errors
/// A tensor that is missing, has another shape than `config` implies, or is stored in an unsupported format.
pub fn stored(config: &ModelConfig, weights: &Weights, need_head: bool) -> Result<Model<CheckpointTensor>> {
    let vars = Vars::root(weights);
    match config.architecture {
        Architecture::Gpt2 => gpt2::model(&vars, config, need_head),
        Architecture::GptNeox => neox::model(&vars, config, need_head),
        Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => llama::model(&vars, config, need_head),
        Architecture::Bert => bert::model(&vars, config),
    }
}

/// Every tensor of a decoder's checkpoint; a head that is tied to the embedding is not among them.
///
/// # Errors
/// An encoder: nothing here makes one.
pub async fn checkpoint<B: Backend>(backend: &B, model: &Model<B::Tensor>) -> Result<BTreeMap<String, NewTensor>> {
    let mut store = CheckpointWriter { backend, tensors: BTreeMap::new() };
    match model.config.architecture {
        Architecture::Gpt2 => gpt2::store(&mut store, model).await,
        Architecture::GptNeox => neox::store(&mut store, model).await,
        Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => llama::store(&mut store, model).await,
        Architecture::Bert => Err(Error::UnknownArchitecture { found: Architecture::Bert.name().into() }),
    }?;
    Ok(store.tensors)
}
