//! `config.json`, and what the program itself stores: tuning notes and the state of an interrupted measurement.

use std::rc::Rc;

use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::backend::gpu::autotune;
use straightedge::model::{ModelConfig, ModelParts, stored};
use straightedge::run::standing;
use straightedge::weights::{MemoryFiles, Weights};

use super::synthetic::{f32s, safetensors};
use crate::own::in_thread;
use crate::target::Refusal;

macro_rules! configs {
    ($($name:literal),* $(,)?) => {
        [$(include_bytes!(concat!("../../../../tests/fixtures/", $name, "/config.json")) as &[u8]),*]
    };
}

/// A configuration of every family.
const CONFIGS: [&[u8]; 20] = configs![
    "char-llama",
    "tiny-bert",
    "tiny-bloom",
    "tiny-distilbert",
    "tiny-gemma",
    "tiny-gemma2",
    "tiny-gemma3",
    "tiny-gpt2",
    "tiny-gpt2-scaled",
    "tiny-gpt_neo",
    "tiny-gpt_neox",
    "tiny-llama",
    "tiny-llama3",
    "tiny-mistral",
    "tiny-modernbert",
    "tiny-opt",
    "tiny-opt-350m",
    "tiny-phi",
    "tiny-qwen3",
    "tiny-roberta",
];

pub(super) fn config_seeds() -> Vec<Vec<u8>> {
    CONFIGS.map(<[u8]>::to_vec).to_vec()
}

/// Reads a configuration, and looks for its tensors among others.
pub(super) fn config(input: &[u8]) -> Result<(), Refusal> {
    let config = ModelConfig::from_json(&String::from_utf8_lossy(input))?;
    for layer in 0..config.num_hidden_layers {
        assert!(config.pattern(layer).scale.is_finite(), "the scale of layer {layer}");
    }
    let bytes = safetensors(&[f32s("wte.weight", &[4, 2]), f32s("h.0.ln_1.weight", &[2])], Value::Null);
    let weights = block_on(Weights::open(Rc::new(MemoryFiles::default().with("model.safetensors", bytes))))?;
    let refused = stored(&config, &weights, ModelParts::WithHead).map(drop).err().map(Refusal::from);
    let refused = refused.ok_or("other weights are taken for its own");
    assert!(refused.is_ok_and(|refusal| refusal.kind.starts_with("tensor_") || refusal.kind == "missing_tensor"));
    Ok(())
}

pub(super) fn notes_seeds() -> Vec<Vec<u8>> {
    let shaders = autotune::snapshot();
    let line = "product\tmatmul_register\t25\t1\tllvmpipe, driver 1\n";
    let gram = "gram\tgram_packed\t4\t3\tanother, driver 2\n";
    // Nothing of a name may get lost, not even what ends lines elsewhere.
    let odd = "gram\tgram_packed\t4\t3\ta name\r\r\n";
    [[&shaders, line].concat(), [&shaders, line, gram].concat(), [&shaders, odd].concat()]
        .map(String::into_bytes)
        .into()
}

/// Takes notes as a new program does, and writes them again.
pub(super) fn notes(input: &[u8]) -> Result<(), Refusal> {
    const MOST: usize = 64 + 1;
    let (first, second) = in_thread(|| {
        autotune::load(input);
        let first = autotune::snapshot();
        autotune::adopt(&first);
        (first, autotune::snapshot())
    });
    assert!(first == second && first.lines().count() <= MOST, "what is noted is not what is read");
    Ok(())
}

pub(super) fn state_seeds() -> Vec<Vec<u8>> {
    let header = json!({"key": "k", "claimed": false, "discarded": 0, "next": 1, "of": 4, "batch_rows": 64, "kernels": "", "blocks": [],
        "layers": [], "warnings": [], "stream": [[64, 8]], "forks": []})
    .to_string()
    .into_bytes();
    vec![[&b"sweep\0\0\x02"[..], &(header.len() as u64).to_le_bytes(), &header, &[0; 64]].concat()]
}

/// Reads how far an interrupted measurement came.
pub(super) fn state(mut input: &[u8]) -> Result<(), Refusal> {
    standing("state", &mut input).map(drop).map_err(Into::into)
}
