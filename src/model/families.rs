//! Dispatch by family: reading a configuration, locating a checkpoint's tensors, and writing a checkpoint.

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

/// Locates the tensors of the model that `config` describes; only headers have been read. The output head is included
/// only if `need_head`.
///
/// # Errors
/// If a tensor is missing, has another shape than `config` implies, or is stored in an unsupported format.
pub fn stored(config: &ModelConfig, weights: &Weights, need_head: bool) -> Result<Model<CheckpointTensor>> {
    let vars = Vars::root(weights);
    match config.architecture {
        Architecture::Gpt2 => gpt2::model(&vars, config, need_head),
        Architecture::GptNeox => neox::model(&vars, config, need_head),
        Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => llama::model(&vars, config, need_head),
        Architecture::Bert => bert::model(&vars, config),
    }
}

/// All tensors of a decoder's checkpoint, without a tied head.
///
/// # Errors
/// For an encoder, which cannot be written.
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
