//! Writes a model as a folder in Hugging Face layout, with its record and its card.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use half::f16;
use pollster::block_on;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;
use straightedge::model::checkpoint;

use crate::card::card;
use crate::record::Record;
use crate::state::write_whole;
use crate::trainer::Trainer;

/// Writes all files of the model into `folder`.
pub fn write(folder: &Path, name: &str, trainer: &Trainer, record: &Record, tokenizer: &[u8]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let put = |file: &str, bytes: &[u8]| write_whole(&folder.join(file), bytes);
    put("config.json", pretty(&record.recipe.config())?.as_bytes())?;
    put("tokenizer.json", tokenizer)?;
    let class = json!({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": record.recipe.size.seq_len});
    put("tokenizer_config.json", pretty(&class)?.as_bytes())?;
    put("model.safetensors", &weights(trainer)?)?;
    put("training.json", serde_json::to_string(record)?.as_bytes())?;
    put("README.md", card(name, record).as_bytes())
}

/// All tensors in F16.
fn weights(trainer: &Trainer) -> Result<Vec<u8>> {
    let tensors = block_on(checkpoint(trainer.backend(), trainer.model()))?;
    let halved = |values: &[f32]| values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
    let bytes: Vec<Vec<u8>> = tensors.values().map(|tensor| halved(&tensor.values)).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
        TensorView::new(Dtype::F16, tensor.shape.clone(), bytes).map(|view| (name.as_str(), view))
    });
    let views: Vec<_> = views.collect::<Result<_, _>>()?;
    // Python readers refuse files that do not name their framework.
    Ok(safetensors::serialize(views, Some(HashMap::from([("format".into(), "pt".into())])))?)
}

fn pretty(value: &serde_json::Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
