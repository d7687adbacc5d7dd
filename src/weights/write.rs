//! Writes a model's weights as one safetensors file: new tensors, and byte-for-byte copies of the others.
//! \[safetensors\]

use std::collections::BTreeMap;
use std::iter;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::Weights;
use super::header::malformed;
use crate::error::{Error, Result};

const FILE: &str = "model.safetensors";

/// A tensor that replaces the one of the same name or is added. Stored as F32.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTensor {
    /// Dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Row-major.
    pub values: Vec<f32>,
}

/// Passes the bytes of the file to `take`, in order and in pieces: all tensors of `weights`, over all shards, updated
/// by `new`.
///
/// # Errors
/// If a tensor cannot be read, or if `take` fails.
pub async fn write_model(
    weights: &Weights,
    new: &BTreeMap<String, NewTensor>,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let order = order(weights, new)?;
    take(&header(weights, new, &order)?)?;
    for (name, _) in &order {
        match new.get(name) {
            Some(tensor) => take(&little_endian(&tensor.values))?,
            None => weights.copy(name, take).await?,
        }
    }
    Ok(())
}

/// Names with formats, widest elements first, so that every tensor is aligned to its element size.
fn order(weights: &Weights, new: &BTreeMap<String, NewTensor>) -> Result<Vec<(String, Dtype)>> {
    let kept = weights.names().filter(|name| !new.contains_key(*name));
    let kept = kept.map(|name| {
        let format = weights.format(name).ok_or_else(|| Error::MissingTensor { tensor: name.into() })?;
        Ok((name.to_owned(), format))
    });
    let made = new.keys().map(|name| Ok((name.clone(), Dtype::F32)));
    let mut order = kept.chain(made).collect::<Result<Vec<_>>>()?;
    order.sort_by(|(name_a, a), (name_b, b)| b.bitsize().cmp(&a.bitsize()).then_with(|| name_a.cmp(name_b)));
    Ok(order)
}

/// Length field and header, padded so that the data begins at a multiple of 8.
fn header(weights: &Weights, new: &BTreeMap<String, NewTensor>, order: &[(String, Dtype)]) -> Result<Vec<u8>> {
    let mut end = 0;
    let infos = order.iter().map(|(name, dtype)| {
        let (shape, bytes) = match new.get(name) {
            Some(tensor) => (tensor.shape.clone(), 4 * tensor.values.len()),
            None => (weights.shape(name).unwrap_or_default().to_vec(), weights.bytes(name) as usize),
        };
        let start = end;
        end += bytes;
        (name.clone(), TensorInfo { dtype: *dtype, shape, data_offsets: (start, end) })
    });
    let infos = infos.collect();
    // Python readers refuse files without a framework name.
    let format = [("format".to_owned(), "pt".to_owned())].into();
    let metadata = Metadata::new(Some(format), infos).map_err(|error| malformed(FILE, error.to_string()))?;
    let mut json = serde_json::to_vec(&metadata).map_err(|error| malformed(FILE, error.to_string()))?;
    json.extend(iter::repeat_n(b' ', json.len().next_multiple_of(8) - json.len()));
    Ok([&(json.len() as u64).to_le_bytes()[..], &json].concat())
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
