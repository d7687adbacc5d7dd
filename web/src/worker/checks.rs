//! The engine's own checks inside a browser: its shaders go through that browser's compiler and drivers. A module built
//! for the browser tests alone, and no part of what is hosted.

#[allow(dead_code, reason = "the native tests use more of it")]
#[path = "../../../tests/kernels/exact.rs"]
mod exact;
#[allow(dead_code, reason = "the native tests use more of it")]
#[path = "../../../tests/kernels/random.rs"]
mod random;

use straightedge::gpu::matmul::VARIANTS;
use straightedge::gpu::{GpuBackend, Options};
use wasm_bindgen::prelude::*;

fn main() {}

/// Compares exact Grams with i128 sums. Returns JSON: per case its name, and why it fails or null.
#[wasm_bindgen]
pub async fn exact_grams() -> String {
    let base = Options { poison: true, matmul: Some(&VARIANTS[1]), flops_per_ms: Some(1e6), ..Options::default() };
    let mut outcomes: Vec<(String, Option<String>)> = Vec::new();
    for (name, options, case) in exact::cases(base) {
        let outcome = match GpuBackend::with(options).await {
            Ok(gpu) => case.check(&gpu).await,
            Err(error) => Err(error.to_string()),
        };
        outcomes.push((name, outcome.err()));
    }
    serde_json::to_string(&outcomes).unwrap_or_else(|why| why.to_string())
}
