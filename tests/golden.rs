//! The forward pass of every reference against its `golden.safetensors`, block by block, on both backends.
//!
//! The golden files come from the `transformers` implementation: two windows of 32 tokens with the residual stream, the
//! inputs and outputs of every feed-forward network, and the logits.

mod common;

use std::path::Path;
use std::rc::Rc;

use safetensors::SafeTensors;
use straightedge::backend::Backend;
use straightedge::backend::cpu::CpuBackend;
use straightedge::forward::Forward;
use straightedge::model::{ModelConfig, ModelParts, load};
use straightedge::weights::{FolderFiles, Weights};

const TOLERANCE: f64 = 2e-4;
const SEQ_LEN: usize = 32;

#[test]
fn cpu_partials_agree() {
    check_all(&CpuBackend::new());
}

#[test]
fn f64_oracle_partials_agree() {
    check_all(&CpuBackend::oracle());
}

#[test]
fn gpu_partials_agree() {
    if let Some(gpu) = common::gpu() {
        check_all(&gpu);
    }
}

fn check_all<B: Backend>(backend: &B) {
    for reference in common::references() {
        pollster::block_on(check(backend, &reference.name, &reference.folder));
    }
}

async fn check<B: Backend>(backend: &B, name: &str, folder: &Path) {
    let golden = std::fs::read(folder.join("golden.safetensors")).expect("golden file");
    let golden = SafeTensors::deserialize(&golden).expect("golden file");
    let ids: Vec<u32> = golden
        .tensor("input_ids")
        .expect("ids")
        .data()
        .chunks_exact(8)
        .map(|id| id[0..4].try_into().map(u32::from_le_bytes).expect("4 bytes"))
        .collect();

    let config = std::fs::read_to_string(folder.join("config.json")).expect("config");
    let config = ModelConfig::from_json(&config).expect("config");
    let weights = Weights::open(Rc::new(FolderFiles::new(folder))).await.expect("weights");
    let model = load(backend, &config, &weights, ModelParts::WithHead, &|_, _| {}).await.expect("model");
    let forward = Forward::new(backend, &model, SEQ_LEN).expect("tables");

    let mut seen = Vec::new();
    let last = forward
        .run(&ids, &mut |capture| {
            seen.push(capture);
            Ok(())
        })
        .expect("forward");
    assert_eq!(seen.len(), config.num_hidden_layers, "{name}: captured blocks");
    for capture in &seen {
        let block = capture.block;
        compare(backend, name, &golden, &format!("hidden.{block}"), &capture.hidden).await;
        compare(backend, name, &golden, &format!("ffn_in.{block}"), &capture.ffn_in).await;
        compare(backend, name, &golden, &format!("ffn_out.{block}"), &capture.ffn_out).await;
    }
    compare(backend, name, &golden, &format!("hidden.{}", config.num_hidden_layers), &last).await;
    assert_eq!(config.causal, golden.tensor("logits").is_ok(), "{name}: logits");
    if config.causal {
        compare(backend, name, &golden, "logits", &forward.logits(&last).expect("logits")).await;
    }
}

async fn compare<B: Backend>(backend: &B, model: &str, golden: &SafeTensors<'_>, tensor: &str, found: &B::Tensor) {
    let expected = golden.tensor(tensor).expect("golden tensor");
    let expected: Vec<f32> = expected
        .data()
        .chunks_exact(4)
        .map(|value| value.try_into().map(f32::from_le_bytes).expect("4 bytes"))
        .collect();
    let found = backend.read(found).await.expect("read back");
    let (error, at) = common::worst(&found, &expected);
    assert!(
        error <= TOLERANCE,
        "{model} {tensor}: off by {error:.2e} at element {at}: {} for {}",
        found[at],
        expected[at]
    );
}
