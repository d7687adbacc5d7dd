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

/// The name that a tensor of the original gets; `None` if it is left out.
pub(super) type NewName<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A tensor of the file.
struct FileTensor {
    name: String,
    /// Its name in the original, and in the map of new tensors.
    stored: String,
    dtype: Dtype,
}

/// Passes the bytes of the file to `take`, in order and in pieces: all tensors of `weights`, over all shards, updated
/// by `new` and then named by `new_name`.
///
/// # Errors
/// If a tensor cannot be read, or if `take` fails.
pub async fn write_model(
    weights: &Weights,
    new: &BTreeMap<String, NewTensor>,
    new_name: NewName<'_>,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let order = order(weights, new, new_name)?;
    take(&header(weights, new, &order)?)?;
    for FileTensor { stored, .. } in &order {
        match new.get(stored) {
            Some(tensor) => take(&little_endian(&tensor.values))?,
            None => weights.copy(stored, take).await?,
        }
    }
    Ok(())
}

/// All tensors of the file, widest elements first, so that every tensor is aligned to its element size.
fn order(weights: &Weights, new: &BTreeMap<String, NewTensor>, new_name: NewName<'_>) -> Result<Vec<FileTensor>> {
    let kept = weights.names().filter(|name| !new.contains_key(*name));
    let kept = kept.map(|name| {
        let format = weights.format(name).ok_or_else(|| Error::MissingTensor { tensor: name.into() })?;
        Ok((name.to_owned(), format))
    });
    let added = new.keys().map(|name| Ok((name.clone(), Dtype::F32)));
    let all = kept.chain(added).collect::<Result<Vec<_>>>()?;
    let named =
        all.into_iter().filter_map(|(stored, dtype)| Some(FileTensor { name: new_name(&stored)?, stored, dtype }));
    let mut order: Vec<FileTensor> = named.collect();
    order.sort_by(|a, b| b.dtype.bitsize().cmp(&a.dtype.bitsize()).then_with(|| a.name.cmp(&b.name)));
    Ok(order)
}

/// Length field and header, padded so that the data begins at a multiple of 8.
fn header(weights: &Weights, new: &BTreeMap<String, NewTensor>, order: &[FileTensor]) -> Result<Vec<u8>> {
    let sizes = order.iter().map(|FileTensor { stored, .. }| match new.get(stored) {
        Some(tensor) => 4 * tensor.values.len() as u64,
        None => weights.bytes(stored),
    });
    let infos = order.iter().zip(offsets(sizes)?).map(|(FileTensor { name, stored, dtype }, data_offsets)| {
        let kept = || weights.shape(stored).unwrap_or_default().to_vec();
        let shape = new.get(stored).map_or_else(kept, |tensor| tensor.shape.clone());
        (name.clone(), TensorInfo { dtype: *dtype, shape, data_offsets })
    });
    let infos = infos.collect();
    // Python readers refuse files without a framework name.
    let format = [("format".to_owned(), "pt".to_owned())].into();
    let metadata = Metadata::new(Some(format), infos).map_err(|error| malformed(FILE, error.to_string()))?;
    let mut json = serde_json::to_vec(&metadata).map_err(|error| malformed(FILE, error.to_string()))?;
    json.extend(iter::repeat_n(b' ', json.len().next_multiple_of(8) - json.len()));
    Ok([&(json.len() as u64).to_le_bytes()[..], &json].concat())
}

/// First byte and end of every tensor, one after the other.
///
/// # Errors
/// Where addresses have 32 bits, so have the library's offsets.
fn offsets(sizes: impl Iterator<Item = u64>) -> Result<Vec<(usize, usize)>> {
    let mut end = 0u64;
    let mut found = Vec::new();
    for size in sizes {
        let start = end;
        end = end.checked_add(size).ok_or_else(too_large)?;
        let within = usize::try_from(start).and_then(|start| Ok((start, usize::try_from(end)?)));
        found.push(within.map_err(|_| too_large())?);
    }
    Ok(found)
}

fn too_large() -> Error {
    Error::UnwritableFile { file: FILE.into(), why: "it is too large for this system".into() }
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_counted_in_64_bits_and_never_wrap() {
        assert_eq!(offsets([4, 0, 8].into_iter()), Ok(vec![(0, 4), (4, 4), (4, 12)]));
        assert_eq!(offsets([u64::MAX, 1].into_iter()), Err(too_large()));
    }
}
