//! Loads a model's weights onto a backend, tensor by tensor.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use super::families::stored;
use super::stored::CheckpointTensor;
use super::{Model, ModelConfig, ModelPart, ModelParts};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::platform::yielding::yield_now;
use crate::weights::{ByteProgress, Weights};

/// Prefetches everything that [`load`] will read, in as few requests as possible for remote files.
///
/// # Errors
/// Those of [`stored`] and of the source of the files.
pub async fn fetch(config: &ModelConfig, weights: &Weights, parts: ModelParts) -> Result<()> {
    weights.prepare(&stored(config, weights, parts)?.names()).await
}

/// Loads the model that `config` describes, holding at most one decoded tensor and its rearranged copy at a time.
///
/// The output head is loaded only if it is among `parts`; `on_bytes` is called with the bytes done and the total.
///
/// # Errors
/// Those of [`fetch`], and a tensor that holds NaN or infinity.
pub async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    parts: ModelParts,
    on_bytes: ByteProgress<'_>,
) -> Result<Model<B::Tensor>> {
    fetch(config, weights, parts).await?;
    let model = stored(config, weights, parts)?;
    let (total, done) = (model.stored_bytes(weights), Cell::new(0));
    let add = |bytes| {
        done.set(done.get() + bytes);
        on_bytes(done.get(), total);
    };
    load_part(backend, weights, model, &add).await
}

/// Loads a part of a model, each checkpoint tensor once, in file order; `on_bytes` receives the bytes of each.
pub(super) async fn load_part<B: Backend, P: ModelPart<CheckpointTensor> + Clone>(
    backend: &B,
    weights: &Weights,
    part: P,
    on_bytes: &dyn Fn(u64),
) -> Result<P::Of<B::Tensor>> {
    let mut loaded = HashMap::new();
    for uses in by_tensor(&part, weights).into_values() {
        let values =
            if uses.iter().any(CheckpointTensor::is_piecemeal) { None } else { Some(uses[0].read(weights).await?) };
        on_bytes(weights.bytes(uses[0].name()));
        for place in uses {
            let (shape, arranged) = place.arrange(weights, values.as_deref().unwrap_or_default()).await?;
            let values = arranged.as_deref().or(values.as_deref()).unwrap_or_default();
            let tensor = backend.upload_stored(place.name(), shape, values, place.storage(weights))?;
            loaded.insert(place, tensor);
        }
        yield_now().await;
    }
    part.map(&mut |place| loaded.get(&place).cloned().ok_or(Error::MissingTensor { tensor: place.name }))
}

/// Groups the part's tensors by the checkpoint tensor they come from, in file order.
fn by_tensor<P: ModelPart<CheckpointTensor> + Clone>(
    part: &P,
    weights: &Weights,
) -> BTreeMap<(std::rc::Rc<str>, u64, u64), Vec<CheckpointTensor>> {
    let mut tensors: BTreeMap<_, Vec<CheckpointTensor>> = BTreeMap::new();
    for place in super::stored::places(part) {
        let uses = tensors.entry(weights.part(place.name())).or_default();
        if !uses.contains(&place) {
            uses.push(place);
        }
    }
    tensors
}
