//! `--dump-maps` and `--maps`: W (d_in, d_out) and b of every block as f64 safetensors, with x̄, σ, ȳ for the form that
//! is safe in f32.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors, serialize};
use straightedge::error::{Error, Result};
use straightedge::event::MapDump;
use straightedge::report::Report;

use super::inputs;

/// A maps file.
pub(super) struct MapsFile {
    file: String,
    bytes: Vec<u8>,
    /// SHA-256 of the model's weights.
    pub(super) model: String,
    /// SHA-256 of the text.
    pub(super) corpus: String,
}

/// Serialises the maps of a measurement as safetensors: tensors `blocks.N.weight`, `.bias`, `.mean_x`, `.deviation_x`
/// and `.mean_y`.
pub(super) fn safetensors(maps: &[MapDump], report: &Report) -> Result<Vec<u8>> {
    let damaged = |error: safetensors::SafeTensorError| malformed("maps", error);
    let little_endian = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let mut data = Vec::new();
    for map in maps {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        let parts = [
            ("weight", vec![d_in, d_out], &map.weight),
            ("bias", vec![d_out], &map.bias),
            ("mean_x", vec![d_in], &map.mean_x),
            ("deviation_x", vec![d_in], &map.deviation_x),
            ("mean_y", vec![d_out], &map.mean_y),
        ];
        data.extend(parts.map(|(part, shape, values)| (name(map.block, part), shape, little_endian(values))));
    }
    let views = data.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)));
    let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(damaged)?;
    let hashes = [(MODEL, &report.model.sha256), (CORPUS, &report.corpus.sha256)];
    let hashes = hashes.into_iter().filter_map(|(key, hash)| Some((key.to_owned(), hash.clone()?)));
    serialize(views, Some(hashes.collect::<HashMap<_, _>>())).map_err(damaged)
}

const MODEL: &str = "model_sha256";
const CORPUS: &str = "corpus_sha256";

impl MapsFile {
    /// Reads a file written by [`safetensors`].
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (file, bytes) = (path.display().to_string(), inputs::bytes(path)?);
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| malformed(&file, error))?;
        let hash = |key: &str| {
            let found = header.metadata().as_ref().and_then(|metadata| metadata.get(key)).cloned();
            found.ok_or_else(|| malformed(&file, format!("{key} is missing, write it with --dump-maps")))
        };
        let (model, corpus) = (hash(MODEL)?, hash(CORPUS)?);
        Ok(Self { file, bytes, model, corpus })
    }

    /// The map of a block.
    pub(super) fn block(&self, block: usize) -> Result<MapDump> {
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(|error| malformed(&self.file, error))?;
        let values = |part: &str| {
            let view = tensors.tensor(&name(block, part)).map_err(|error| malformed(&self.file, error))?;
            if view.dtype() != Dtype::F64 {
                return Err(Error::TensorDtype { tensor: name(block, part), dtype: view.dtype().to_string() });
            }
            let numbers: Vec<f64> = view.data().as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
            match numbers.iter().position(|number| !number.is_finite()) {
                Some(index) => Err(Error::NonFiniteTensor { tensor: name(block, part), index }),
                None => Ok(numbers),
            }
        };
        Ok(MapDump {
            block,
            weight: values("weight")?,
            bias: values("bias")?,
            mean_x: values("mean_x")?,
            deviation_x: values("deviation_x")?,
            mean_y: values("mean_y")?,
        })
    }
}

fn name(block: usize, part: &str) -> String {
    format!("blocks.{block}.{part}")
}

fn malformed(file: &str, why: impl ToString) -> Error {
    Error::MalformedWeights { file: file.into(), why: why.to_string() }
}
