//! The files of the model: Hugging Face layout, its text, and the expected results.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use safetensors::tensor::{Dtype, TensorView};
use serde::Serialize;

use super::design::{self, HIDDEN, TOKENS, blocks};
use super::text::{self, ALPHABET, SEQ_LEN};
use super::weights::{self, EPS, HEADS, INTERMEDIATE, Tensor};

/// Folder of the model, and its name in reports.
const NAME: &str = "calibration";

/// Every file by its path within web/models.
pub(super) fn all() -> Result<Vec<(String, Vec<u8>)>> {
    let model = [
        ("config.json", json(&Config::new())?),
        ("model.safetensors", safetensors(&weights::tensors())?),
        ("tokenizer.json", tokenizer()?.into_bytes()),
    ];
    let sizes = model.iter().map(|(name, bytes)| (*name, bytes.len())).collect();
    let additional = [("expected.json", json(&ExpectedFile::new())?), ("text.txt", text::text().into_bytes())];
    let own = model.into_iter().chain(additional).map(|(name, bytes)| (format!("{NAME}/{name}"), bytes));
    Ok([("index.json".into(), json(&[Bundled::calibration(sizes)])?)].into_iter().chain(own).collect())
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value)?;
    json.push(b'\n');
    Ok(json)
}

/// The model as the page lists it.
#[derive(Serialize)]
struct Bundled {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Bytes of every file in Hugging Face layout.
    files: BTreeMap<&'static str, usize>,
    text: &'static str,
    expected: &'static str,
}

impl Bundled {
    fn calibration(files: BTreeMap<&'static str, usize>) -> Self {
        Self {
            name: NAME,
            title: "Calibration",
            about: "Constructed so that every correct value is known: affine, mixed, interaction, zero, \
                    rank-1 and outlier blocks.",
            files,
            text: "text.txt",
            expected: "expected.json",
        }
    }
}

/// The fields of a GPT-2 configuration that its arithmetic depends on.
#[derive(Serialize)]
struct Config {
    architectures: [&'static str; 1],
    model_type: &'static str,
    activation_function: &'static str,
    initializer_range: f64,
    layer_norm_epsilon: f64,
    n_embd: usize,
    n_head: usize,
    n_inner: usize,
    n_layer: usize,
    n_positions: usize,
    tie_word_embeddings: bool,
    vocab_size: usize,
}

impl Config {
    fn new() -> Self {
        Self {
            architectures: ["GPT2LMHeadModel"],
            model_type: "gpt2",
            activation_function: "gelu_new",
            initializer_range: 0.02,
            layer_norm_epsilon: EPS,
            n_embd: HIDDEN,
            n_head: HEADS,
            n_inner: INTERMEDIATE,
            n_layer: blocks().len(),
            n_positions: SEQ_LEN,
            tie_word_embeddings: true,
            vocab_size: TOKENS,
        }
    }
}

/// One entry per block, null where a value is not defined.
#[derive(Serialize)]
struct ExpectedFile {
    title: Vec<&'static str>,
    r2_lin: Vec<Option<f64>>,
    r2_feature_median: Vec<Option<f64>>,
    effective_rank: Vec<Option<usize>>,
    rank: Vec<usize>,
}

impl ExpectedFile {
    fn new() -> Self {
        let (blocks, directions) = (blocks(), weights::directions());
        let expected: Vec<_> = blocks.iter().map(|block| design::expected(block, &directions)).collect();
        Self {
            title: blocks.iter().map(|block| block.title).collect(),
            r2_lin: expected.iter().map(|block| block.r2_lin.map(rounded)).collect(),
            r2_feature_median: expected.iter().map(|block| block.r2_feature_median.map(rounded)).collect(),
            effective_rank: expected.iter().map(|block| block.effective_rank).collect(),
            rank: expected.iter().map(|block| block.rank).collect(),
        }
    }
}

/// To twelve decimals, and without a sign on zero: 1 rather than 0.9999999999999998, 0 rather than −0.
fn rounded(value: f64) -> f64 {
    (value * 1e12).round() / 1e12 + 0.0
}

fn safetensors(tensors: &[Tensor]) -> Result<Vec<u8>> {
    let bytes = |tensor: &Tensor| tensor.data.iter().flat_map(|value| value.to_le_bytes()).collect();
    let data: Vec<Vec<u8>> = tensors.iter().map(bytes).collect();
    let views = tensors.iter().zip(&data).map(|(tensor, data)| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), data)?;
        Ok((format!("transformer.{}", tensor.name), view))
    });
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    Ok(safetensors::serialize(views.collect::<Result<Vec<_>>>()?, Some(metadata))?)
}

/// One token per character; white space separates and is dropped, any other character is an error.
fn tokenizer() -> Result<String> {
    let entry = |(id, letter): (usize, &u8)| Ok(format!("{}: {id}", serde_json::to_string(&char::from(*letter))?));
    let vocabulary = ALPHABET.iter().enumerate().map(entry).collect::<Result<Vec<_>>>()?.join(", ");
    Ok(format!(
        r#"{{
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [],
  "normalizer": null,
  "pre_tokenizer": {{ "type": "Split", "pattern": {{ "Regex": "\\S" }}, "behavior": "Removed", "invert": true }},
  "post_processor": null,
  "decoder": {{ "type": "Fuse" }},
  "model": {{ "type": "WordLevel", "unk_token": "<unknown>", "vocab": {{ {vocabulary} }} }}
}}
"#
    ))
}
