//! Weights in PyTorch's files (`pytorch_model.bin`): a zip archive whose `data.pkl` describes the tensors and whose
//! other entries hold their elements, without compression. \[safetensors\]
//!
//! As with safetensors, only the description is read at first, from the file's end and its beginning; tensors are byte
//! ranges. The description is untrusted data and nothing of it is executed.

mod fault;
mod objects;
mod pickle;
mod zip;

use std::collections::BTreeMap;
use std::ops::Range;

use super::place::{Places, TensorPlace};
use super::source::Files;
use crate::error::Result;
use fault::{Fault, damaged, excerpt, unsupported};
use objects::TensorView;
use pickle::Pickle;
use zip::Archive;

/// Most bytes of a description; that of a model of a thousand tensors takes 200 kB.
const MAX_PICKLE: u64 = 16 << 20;

/// The byte order that is read.
const LITTLE: &[u8] = b"little";

/// The tensors of a file that exists and has `size` bytes.
pub(super) async fn read(files: &dyn Files, file: &str, size: u64) -> Result<Places> {
    tensors(files, file, size).await.map_err(|fault| fault.of(file))
}

async fn tensors(files: &dyn Files, file: &str, size: u64) -> Result<Places, Fault> {
    let archive = Archive::open(files, file, size).await?;
    let root = root(&archive)?.to_owned();
    let pickle = description(&archive, &root).await?;
    let (mut places, mut storages) = (Places::new(), BTreeMap::new());
    for (name, view) in Pickle::tensors(&pickle)? {
        let key = view.storage.key;
        if !storages.contains_key(key) {
            storages.insert(key, archive.data(&format!("{root}/data/{key}")).await?);
        }
        places.insert(name.to_owned(), place(view, &storages[key])?);
    }
    Ok(places)
}

/// The folder of the archive that holds `data.pkl`.
fn root<'a>(archive: &'a Archive<'_>) -> Result<&'a str, Fault> {
    let mut roots = archive.names().filter_map(|name| name.strip_suffix("/data.pkl"));
    match (roots.next(), roots.next()) {
        (Some(root), None) => Ok(root),
        (None, _) => Err(unsupported("it is a zip archive without data.pkl")),
        _ => Err(unsupported("it is a zip archive with more than one data.pkl")),
    }
}

/// Reads `data.pkl`, and checks the byte order, which newer versions write next to it.
async fn description(archive: &Archive<'_>, root: &str) -> Result<Vec<u8>, Fault> {
    let pickle = archive.data(&format!("{root}/data.pkl")).await?;
    let len = pickle.end - pickle.start;
    if len > MAX_PICKLE {
        return Err(unsupported(format!("its data.pkl of {len} bytes is over the limit of {MAX_PICKLE}")));
    }
    let order = format!("{root}/byteorder");
    if let Some(size) = archive.size(&order) {
        let order = archive.data(&order).await?;
        archive.prepare(vec![pickle.clone(), order.clone()]).await?;
        if size != LITTLE.len() as u64 || archive.read(order).await? != LITTLE {
            return Err(unsupported("it was written on a machine of another byte order"));
        }
    }
    archive.read(pickle).await
}

/// Where a view lies in a file that holds its storage at `held`. A view that is not contiguous has no bytes.
fn place(view: TensorView<'_>, held: &Range<u64>) -> Result<TensorPlace, Fault> {
    let (storage, width) = (&view.storage, view.storage.width());
    let bytes = held.end - held.start;
    if storage.len.checked_mul(width) != Some(bytes) {
        let (key, len) = (excerpt(storage.key), storage.len);
        return Err(damaged(format!("storage {key} has {bytes} bytes, which does not match its {len} elements")));
    }
    let strides = (!view.is_contiguous()).then(|| view.strides.clone());
    let len = if strides.is_some() { 0 } else { view.len };
    // An empty tensor may claim any offset.
    let first = if len == 0 { held.start } else { held.start + view.offset * width };
    Ok(TensorPlace { dtype: storage.dtype, shape: view.shape, bytes: first..first + len * width, strides })
}
