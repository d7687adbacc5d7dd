//! Brings a model's weights onto a backend, tensor by tensor.

use std::collections::HashMap;

use super::stored::Stored;
use super::vars::Vars;
use super::{Architecture, Model, ModelConfig, bert, gpt2, llama, neox};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::pause::pause;
use crate::weights::{OnBytes, Weights};

/// Where the tensors of the model that `config` describes lie. Nothing but headers has been read for it.
///
/// The output head is part of it only where `need_head`.
///
/// # Errors
/// A tensor that is missing, has another shape than `config` implies, or is stored in an unsupported format.
pub fn stored(config: &ModelConfig, weights: &Weights, need_head: bool) -> Result<Model<Stored>> {
    let vars = Vars::root(weights);
    match config.architecture {
        Architecture::Gpt2 => gpt2::model(&vars, config, need_head),
        Architecture::GptNeox => neox::model(&vars, config, need_head),
        Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => llama::model(&vars, config, need_head),
        Architecture::Bert => bert::model(&vars, config),
    }
}

/// Has everything fetched that [`load`] will read, in as few requests as possible where the files are far away.
///
/// # Errors
/// As [`stored`], and whatever keeps the source of the files from fetching them.
pub async fn fetch(config: &ModelConfig, weights: &Weights, need_head: bool) -> Result<()> {
    weights.prepare(&stored(config, weights, need_head)?.names()).await
}

/// Loads the model that `config` describes. At most one tensor is held decoded at a time, with its rearranged copy.
///
/// The output head is loaded only where `need_head`; `on_bytes` hears the bytes done, of all that are needed.
///
/// # Errors
/// As [`fetch`], and a tensor that holds NaN or infinity.
pub async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    need_head: bool,
    on_bytes: OnBytes<'_>,
) -> Result<Model<B::Tensor>> {
    fetch(config, weights, need_head).await?;
    let model = stored(config, weights, need_head)?;
    let tensors = model.by_tensor(weights);
    let total = tensors.iter().map(|uses| weights.bytes(&uses[0].name)).sum();
    let (mut loaded, mut done) = (HashMap::new(), 0);
    for uses in tensors {
        let first = &uses[0];
        let values = weights.tensor(&first.name, &first.shape).await?;
        done += weights.bytes(&first.name);
        for place in uses {
            let (shape, arranged) = place.arrange(weights, &values).await?;
            let values = arranged.as_deref().unwrap_or(&values);
            let tensor = backend.upload_stored(&place.name, shape, values, place.storage(weights))?;
            loaded.insert(place, tensor);
        }
        on_bytes(done, total);
        pause().await;
    }
    model.map(&mut |place| loaded.get(&place).cloned().ok_or(Error::MissingTensor { tensor: place.name }))
}
