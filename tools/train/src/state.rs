//! The saved state of a run: weights, moments and record in one file, which is replaced atomically. \[safetensors\]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::backend::TrainingBackend;
use crate::record::Record;
use crate::trainer::Trainer;

/// Metadata key of the record.
const RECORD: &str = "record";

/// Saves everything the rest of the run depends on.
pub fn save(path: &Path, trainer: &Trainer, record: &Record) -> Result<()> {
    let mut tensors = Vec::new();
    let optimiser = trainer.optimiser();
    for (index, (var, (mean, square))) in optimiser.vars().zip(optimiser.moments()).enumerate() {
        for (kind, tensor) in [("weight", var.as_tensor()), ("mean", mean), ("square", square)] {
            tensors.push((format!("{kind}.{index}"), tensor.dims().to_vec(), bytes(tensor)?));
        }
    }
    let views = tensors.iter().map(|(name, shape, bytes)| {
        TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name.as_str(), view))
    });
    let views: Vec<_> = views.collect::<Result<_, _>>()?;
    let metadata = HashMap::from([(RECORD.to_owned(), serde_json::to_string(record)?)]);
    write_whole(path, &safetensors::serialize(views, Some(metadata))?)
}

/// Loads trainer and record written by [`save`], to continue on `backend`; `None` if there is no file.
pub fn load(path: &Path, backend: &TrainingBackend) -> Result<Option<(Trainer, Record)>> {
    if !path.exists() {
        return Ok(None);
    }
    let file = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let parse = || -> Result<(Trainer, Record)> {
        let (_, header) = SafeTensors::read_metadata(&file)?;
        let record = header.metadata().as_ref().and_then(|metadata| metadata.get(RECORD)).context("no record")?;
        let record: Record = serde_json::from_str(record)?;
        let tensors = SafeTensors::deserialize(&file)?;
        let mut trainer = Trainer::new(record.recipe.clone(), backend.clone())?;
        let read = |kind: &str, index: usize| tensor(&tensors, &format!("{kind}.{index}"));
        let count = trainer.optimiser().vars().count();
        let weights: Vec<_> = (0..count).map(|index| read("weight", index)).collect::<Result<_>>()?;
        let moments = (0..count).map(|index| Ok((read("mean", index)?, read("square", index)?)));
        trainer.resume(record.steps_done(), &weights, &moments.collect::<Result<Vec<_>>>()?)?;
        Ok((trainer, record))
    };
    parse().map(Some).with_context(|| format!("{} is no state of a run; remove it to begin anew", path.display()))
}

/// Writes a file atomically.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let values: Vec<f32> = tensor.flatten_all()?.to_vec1()?;
    Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn tensor(tensors: &SafeTensors<'_>, name: &str) -> Result<Tensor> {
    let view = tensors.tensor(name)?;
    if view.dtype() != Dtype::F32 {
        bail!("{name} is not in F32");
    }
    let values: Vec<f32> =
        view.data().chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
    Ok(Tensor::from_vec(values, view.shape(), &Device::Cpu)?)
}
