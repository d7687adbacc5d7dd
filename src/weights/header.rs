//! The header of one safetensors file, validated against the file before any tensor is read. \[safetensors\]
//!
//! Offsets are 64-bit, unlike the crate's usize, so that files above 4 GiB work in a browser.

use std::collections::BTreeMap;

use safetensors::tensor::Dtype;
use serde::Deserialize;

use super::place::{Places, TensorPlace};
use super::source::{Files, refuse_pointer};
use crate::error::{Error, Result};

/// Most bytes of a header. The largest real ones take a few megabytes; the 100 MB that the format allows would take
/// gigabytes of memory.
const MAX_HEADER: u64 = 16 << 20;

/// Bytes of the length field before the header.
const LENGTH: u64 = 8;

/// Format, shape and place of a tensor, relative to the end of the header.
#[derive(Deserialize)]
struct Info {
    dtype: Dtype,
    shape: Vec<usize>,
    /// First byte and end (exclusive).
    data_offsets: (u64, u64),
}

/// The JSON header: tensors by name, and the writer's metadata.
#[derive(Deserialize)]
struct WrittenHeader {
    #[serde(rename = "__metadata__")]
    _metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Info>,
}

/// The tensors of a file that exists and has `size` bytes. They are contiguous and fill the file exactly.
pub(super) async fn read(files: &dyn Files, file: &str, size: u64) -> Result<Places> {
    let length = header_length(files, file, size).await?;
    let data_start = LENGTH + length;
    let json = files.read(file, LENGTH..data_start).await?;
    let WrittenHeader { tensors, .. } =
        serde_json::from_slice(&json).map_err(|error| malformed(file, format!("header: {error}")))?;
    let described = described(&tensors).map_err(|why| malformed(file, format!("header: {why}")))?;
    let present = size - data_start;
    if described != present {
        return Err(malformed(
            file,
            format!("the header describes {described} bytes of tensors, the file holds {present}"),
        ));
    }
    let place = |Info { dtype, shape, data_offsets: (first, end) }| {
        let bytes = data_start + first..data_start + end;
        TensorPlace { dtype, shape, bytes, strides: None }
    };
    Ok(tensors.into_iter().map(|(name, info)| (name, place(info))).collect())
}

/// Total bytes of the tensors; fails unless they are contiguous from offset 0.
fn described(tensors: &BTreeMap<String, Info>) -> Result<u64, String> {
    let mut by_place: Vec<_> = tensors.iter().collect();
    by_place.sort_by_key(|(_, info)| info.data_offsets);
    let mut end = 0;
    for (name, Info { dtype, shape, data_offsets }) in by_place {
        let (first, last) = *data_offsets;
        if first != end || last < first {
            return Err(format!("tensor {name} does not begin where the one before it ends"));
        }
        let bits = shape.iter().try_fold(dtype.bitsize() as u64, |bits, side| bits.checked_mul(*side as u64));
        if bits != (last - first).checked_mul(8) {
            return Err(format!("tensor {name} has {} bytes, which does not match its shape", last - first));
        }
        end = last;
    }
    Ok(end)
}

/// The length of the header, checked against the file's size.
async fn header_length(files: &dyn Files, file: &str, size: u64) -> Result<u64> {
    if size < LENGTH {
        return Err(malformed(file, format!("{size} bytes are too few for a header")));
    }
    let bytes = files.read(file, 0..LENGTH).await?;
    refuse_pointer(file, &bytes)?;
    let bytes = bytes.try_into().map_err(|_| malformed(file, "its first 8 bytes cannot be read".into()))?;
    let length = u64::from_le_bytes(bytes);
    if length > MAX_HEADER {
        return Err(malformed(file, format!("a header of {length} bytes is over the limit of {MAX_HEADER}")));
    }
    if length > size - LENGTH {
        return Err(malformed(file, format!("a header of {length} bytes does not fit into the {size} of the file")));
    }
    Ok(length)
}

pub(super) fn malformed(file: &str, why: String) -> Error {
    Error::MalformedWeights { file: file.into(), why }
}
