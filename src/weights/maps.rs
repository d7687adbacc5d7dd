//! `--dump-maps` and `--maps`: W (d_in, d_out) and b of every block as f64 safetensors, with x̄, σ, ȳ for the form that
//! is safe in f32. Maps that were healed together are in the same file, under names of their own.

use std::collections::{BTreeMap, BTreeSet};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors, serialize};
use serde_json::json;

use super::header::check_length;
use crate::error::{Error, Result};
use crate::event::MapDump;
use crate::report::Report;

/// A maps file.
pub struct MapsFile {
    file: String,
    bytes: Vec<u8>,
    /// SHA-256 of the model's weights.
    pub model: String,
    /// SHA-256 of the text.
    pub corpus: String,
}

/// Serialises the maps of a measurement as safetensors: tensors `blocks.N.weight`, `.bias`, `.mean_x`, `.deviation_x`
/// and `.mean_y`, those of maps that learned W together after `healed.W.`.
///
/// # Errors
/// If the library refuses to write them.
pub fn safetensors(maps: &[MapDump], report: &Report) -> Result<Vec<u8>> {
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
        let prefix = prefix(map.healed.as_deref());
        data.extend(
            parts.map(|(part, shape, values)| (format!("{prefix}{}.{part}", map.block), shape, little_endian(values))),
        );
    }
    let views = data.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)));
    let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(damaged)?;
    let hashes = [(MODEL, &report.model.sha256), (CORPUS, &report.corpus.sha256)];
    let hashes = hashes.into_iter().filter_map(|(key, hash)| Some((key, hash.as_deref()?)));
    Ok(with_metadata(&serialize(views, None).map_err(damaged)?, hashes.collect()))
}

/// Adds metadata to a file whose header has none. The library would write it in an order that differs from run to run.
fn with_metadata(file: &[u8], metadata: BTreeMap<&str, &str>) -> Vec<u8> {
    let (length, rest) = file.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let (header, data) = rest.split_at(length);
    let mut header: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).expect("a header of our own");
    header.insert("__metadata__".into(), json!(metadata));
    let mut header = serde_json::to_vec(&header).expect("plain data");
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

const MODEL: &str = "model_sha256";
/// How far a bias may be from the means, relative to the terms that are added up.
const BIAS_TOLERANCE: f64 = 1e-9;
const CORPUS: &str = "corpus_sha256";

impl MapsFile {
    /// Reads an untrusted file of the kind that [`safetensors()`] writes; `file` names it in errors.
    ///
    /// # Errors
    /// It is no safetensors file, has too long a header, or does not say what it was measured on.
    pub fn read(file: String, bytes: Vec<u8>) -> Result<Self> {
        // The library allows 100 MB, and every block reads the header again.
        if let Some(length) = bytes.first_chunk() {
            check_length(u64::from_le_bytes(*length)).map_err(|why| malformed(&file, why))?;
        }
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| malformed(&file, error))?;
        let hash = |key: &str| {
            let found = header.metadata().as_ref().and_then(|metadata| metadata.get(key)).cloned();
            found.ok_or_else(|| malformed(&file, format!("{key} is missing")))
        };
        let (model, corpus) = (hash(MODEL)?, hash(CORPUS)?);
        Ok(Self { file, bytes, model, corpus })
    }

    /// The blocks of all maps that learned `healed` together, ascending; of the closed form for `None`.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn blocks(&self, healed: Option<&str>) -> Result<Vec<usize>> {
        let tensors = self.tensors()?;
        let prefix = prefix(healed);
        let block = |name: &&str| name.strip_prefix(&prefix)?.strip_suffix(".weight")?.parse().ok();
        let blocks: BTreeSet<usize> = tensors.names().iter().filter_map(block).collect();
        Ok(blocks.into_iter().collect())
    }

    fn tensors(&self) -> Result<SafeTensors<'_>> {
        SafeTensors::deserialize(&self.bytes).map_err(|error| malformed(&self.file, error))
    }

    /// The map of a block; `healed` as in [`MapDump::healed`].
    ///
    /// # Errors
    /// It is missing, of another shape or format, not finite, or contradicts itself.
    pub fn block(&self, block: usize, healed: Option<&str>) -> Result<MapDump> {
        let tensors = self.tensors()?;
        let prefix = format!("{}{block}.", prefix(healed));
        let values = |part: &str, shape: Option<&[usize]>| {
            let tensor = format!("{prefix}{part}");
            let view = tensors.tensor(&tensor).map_err(|error| malformed(&self.file, error))?;
            if view.dtype() != Dtype::F64 {
                let why = format!("{tensor} is stored as {} instead of F64", view.dtype());
                return Err(malformed(&self.file, why));
            }
            if shape.is_some_and(|shape| view.shape() != shape) || view.shape().len() != 1 && shape.is_none() {
                let expected = shape.map_or("one dimension".into(), |shape| format!("{shape:?}"));
                let why = format!("{tensor} has shape {:?} instead of {expected}", view.shape());
                return Err(malformed(&self.file, why));
            }
            let numbers: Vec<f64> = view.data().as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
            match numbers.iter().position(|number| !number.is_finite()) {
                Some(index) => Err(malformed(&self.file, format!("element {index} of {tensor} is not finite"))),
                None => Ok(numbers),
            }
        };
        let (mean_x, mean_y) = (values("mean_x", None)?, values("mean_y", None)?);
        let (d_in, d_out) = (mean_x.len(), mean_y.len());
        let map = MapDump {
            block,
            healed: healed.map(str::to_owned),
            weight: values("weight", Some(&[d_in, d_out]))?,
            bias: values("bias", Some(&[d_out]))?,
            deviation_x: values("deviation_x", Some(&[d_in]))?,
            mean_x,
            mean_y,
        };
        self.check_bias(&prefix, &map)?;
        Ok(map)
    }

    /// Refuses a bias that contradicts the means: maps are applied through their means, so it would go unused.
    fn check_bias(&self, prefix: &str, map: &MapDump) -> Result<()> {
        for (j, (bias, mean)) in map.bias.iter().zip(&map.mean_y).enumerate() {
            let terms = map.weight.iter().skip(j).step_by(map.mean_y.len()).zip(&map.mean_x);
            let terms: Vec<f64> = terms.map(|(weight, mean)| weight * mean).collect();
            let reach = mean.abs() + terms.iter().map(|term| term.abs()).sum::<f64>();
            if !((mean - terms.iter().sum::<f64>() - bias).abs() <= BIAS_TOLERANCE * reach) {
                let why = format!("element {j} of {prefix}bias is not mean_y − Wᵀ·mean_x");
                return Err(malformed(&self.file, why));
            }
        }
        Ok(())
    }
}

/// What names of tensors begin with, before the number of the block.
fn prefix(healed: Option<&str>) -> String {
    healed.map_or("blocks.".into(), |learned| format!("healed.{learned}.blocks."))
}

fn malformed(file: &str, why: impl ToString) -> Error {
    Error::MalformedMaps { file: file.into(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_over_the_limit_is_refused() {
        let of_length = |length: usize| {
            let mut header = json!({"__metadata__": {(MODEL): "m", (CORPUS): "c"}}).to_string().into_bytes();
            header.resize(length, b' ');
            MapsFile::read("maps".into(), [&(length as u64).to_le_bytes()[..], &header].concat())
        };
        assert!(of_length(16 << 20).is_ok());
        let error = of_length((16 << 20) + 1).err().expect("too long").to_string();
        assert!(error.contains("a header of 16777217 bytes is over the limit of 16777216"), "{error}");
    }
}
