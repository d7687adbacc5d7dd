//! Brings a model's weights onto a backend, tensor by tensor.

use std::cell::Cell;

use super::vars::{Loader, Vars};
use super::{Architecture, Model, ModelConfig, bert, gpt2, llama, neox};
use crate::backend::Backend;
use crate::error::Result;
use crate::weights::{OnBytes, Weights};

/// Loads the model that `config` describes. At most one tensor is held decoded at a time, with its rearranged copy.
///
/// The output head is loaded only where `need_head`; `on_bytes` hears the bytes done, of all in the files.
///
/// # Errors
/// A tensor that is missing, has another shape than `config` implies, or holds NaN or infinity.
pub async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    need_head: bool,
    on_bytes: OnBytes<'_>,
) -> Result<Model<B::Tensor>> {
    let loader = Loader { backend, weights, on_bytes, done: Cell::new(0) };
    let vars = Vars::root(&loader);
    let model = match config.architecture {
        Architecture::Gpt2 => gpt2::model(&vars, config, need_head).await,
        Architecture::GptNeox => neox::model(&vars, config, need_head).await,
        Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => {
            llama::model(&vars, config, need_head).await
        }
        Architecture::Bert => bert::model(&vars, config).await,
    }?;
    // Masks and heads that nobody needs are left in the files.
    on_bytes(weights.total_bytes(), weights.total_bytes());
    Ok(model)
}
