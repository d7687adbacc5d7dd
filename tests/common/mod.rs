//! What the integration tests share: fixtures, an adapter, and a comparison in which NaN fails.
#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod python;

use std::path::{Path, PathBuf};

use straightedge::error::Error;
use straightedge::gpu::GpuBackend;
use straightedge::job::BackendChoice;

/// The fixtures with a decoder or encoder in Hugging Face layout, and the text each is measured on.
pub(crate) const MODELS: [(&str, &str); 5] = [
    ("tiny-gpt2", "wiki"),
    ("tiny-gpt_neox", "wiki"),
    ("tiny-llama", "wiki"),
    ("tiny-bert", "wiki"),
    ("babyllama-105", "stories"),
];

/// The folder of fixtures, which stands beside the repository. Where it is absent the calling test says so loudly and
/// passes, except under `CI`, where it fails.
pub(crate) fn fixtures() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", folder.display());
    eprintln!("\n!!! SKIPPED: {} is absent, nothing was compared with a reference !!!\n", folder.display());
    None
}

/// The GPU, software adapters included. Without one the calling test says so loudly and passes, except under
/// `REQUIRE_GPU=1`, where it fails.
pub(crate) fn gpu() -> Option<GpuBackend> {
    match pollster::block_on(GpuBackend::new(BackendChoice::Gpu)) {
        Ok(backend) => Some(backend),
        Err(Error::NoAdapter { why }) if std::env::var("REQUIRE_GPU").as_deref() != Ok("1") => {
            eprintln!("\n!!! SKIPPED: no GPU adapter ({why}), no shader was run !!!\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Largest |found − expected| / max(1, |expected|) and where; NaN counts as infinite.
pub(crate) fn worst(found: &[f32], expected: &[f32]) -> (f64, usize) {
    assert_eq!(found.len(), expected.len(), "lengths");
    let errors = found.iter().zip(expected).map(|(found, expected)| {
        let error = f64::from((found - expected).abs()) / f64::from(expected.abs()).max(1.0);
        if error.is_nan() { f64::INFINITY } else { error }
    });
    errors
        .enumerate()
        .map(|(at, error)| (error, at))
        .fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// Fails where `found` is farther than `tolerance` from `expected`, NaN and absence included.
pub(crate) fn assert_close(what: &str, found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.unwrap_or_else(|| panic!("{what}: null where {expected} is expected"));
    let difference = (found - expected).abs();
    assert!(difference <= tolerance, "{what}: {found} where {expected} is expected, off by {difference:.2e}");
}

#[test]
fn the_comparison_notices_nan_and_a_planted_error() {
    assert!(worst(&[1.0, f32::NAN], &[1.0, 2.0]).0 > 1.0);
    assert_eq!(worst(&[1.0, 2.0, 5.0], &[1.0, 2.0, 4.0]), (0.25, 2));
}
