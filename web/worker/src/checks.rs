//! The engine's checks inside a browser, with that browser's shader compiler and drivers. A module for the browser
//! tests only, not part of the hosted site.

#[allow(dead_code, reason = "the native tests use more of it")]
#[path = "../../../tests/kernels/exact.rs"]
mod exact;
#[path = "../../../tests/kernels/operations.rs"]
mod operations;

use straightedge::backend::gpu::{GpuBackend, Options, VARIANTS, autotune};
use wasm_bindgen::prelude::*;

fn main() {}

/// Compares exact Grams with i128 sums.
#[wasm_bindgen]
pub async fn exact_grams() -> String {
    outcomes(exact::cases(base()), async |gpu, case| case.check(gpu).await).await
}

/// Compares every operation, in every kernel that implements it, with the CPU's.
#[wasm_bindgen]
pub async fn operations() -> String {
    let devices = operations::devices(base()).into_iter().map(|(name, options)| (name, options, ()));
    outcomes(devices.collect(), async |gpu, ()| operations::check(gpu).await).await
}

/// Floating-point operations of the matrix products that autotuning times.
#[wasm_bindgen]
pub fn product_flops() -> Vec<f64> {
    autotune::product_flops().into()
}

fn base() -> Options {
    Options { poison: true, matmul: Some(&VARIANTS[1]), flops_per_ms: Some(1e6), ..Options::default() }
}

/// JSON: the name of each case, with its failure or null.
async fn outcomes<C>(
    cases: Vec<(String, Options, C)>,
    check: impl AsyncFn(&GpuBackend, C) -> Result<(), String>,
) -> String {
    let mut outcomes: Vec<(String, Option<String>)> = Vec::new();
    for (name, options, case) in cases {
        let outcome = match GpuBackend::with(options).await {
            Ok(gpu) => check(&gpu, case).await,
            Err(error) => Err(error.to_string()),
        };
        outcomes.push((name, outcome.err()));
    }
    serde_json::to_string(&outcomes).unwrap_or_else(|why| why.to_string())
}
