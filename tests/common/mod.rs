//! Shared parts of the integration tests: reference models, backends, and comparisons in which NaN fails.
#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod double;
pub(crate) mod planted;
pub(crate) mod python;
mod skip;
pub(crate) mod svd;
pub(crate) mod synthetic;
pub(crate) mod torch;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use straightedge::backend::gpu::{GpuBackend, autotune};
use straightedge::backend::{Backend, GramShape};
use straightedge::error::Error;
use straightedge::job::{BackendChoice, GramMode, Job, Protocol};
use straightedge::stats::moments::Scale;

/// A folder with a model and its reference values, and the text it is measured on.
pub(crate) struct Reference {
    /// For messages.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) text: PathBuf,
}

/// The project's own models and the names of their texts.
pub(crate) const OWN: [(&str, &str); 5] = [
    ("tiny-gpt2", "encyclopedia"),
    ("tiny-gpt_neox", "encyclopedia"),
    ("tiny-llama", "encyclopedia"),
    ("tiny-bert", "encyclopedia"),
    ("char-llama", "tales"),
];

/// The project's own models of further families, with drawn weights, measured on the text `encyclopedia`.
pub(crate) const FAMILIES: [&str; 15] = [
    "tiny-gpt2-scaled",
    "tiny-gpt_neo",
    "tiny-opt",
    "tiny-opt-350m",
    "tiny-bloom",
    "tiny-mistral",
    "tiny-qwen3",
    "tiny-llama3",
    "tiny-phi",
    "tiny-gemma",
    "tiny-gemma2",
    "tiny-gemma3",
    "tiny-roberta",
    "tiny-distilbert",
    "tiny-modernbert",
];

/// Models of another collection of the same format, which may be next to the repository.
const ADDITIONAL: [(&str, &str); 5] = [
    ("tiny-gpt2", "wiki"),
    ("tiny-gpt_neox", "wiki"),
    ("tiny-llama", "wiki"),
    ("tiny-bert", "wiki"),
    ("babyllama-105", "stories"),
];

/// A job with windows of 64 tokens.
pub(crate) fn small_job() -> Job {
    let protocol = Protocol { seq_len: 64, ..Protocol::default() };
    Job { protocol, ..Job::new("model", "text") }
}

/// A file or folder of the project's own references.
pub(crate) fn fixture(path: impl AsRef<Path>) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    assert!(path.exists(), "{} is absent; `git checkout -- tests/fixtures` restores it", path.display());
    path
}

/// The folder of additional references, if there is one.
pub(crate) fn additional() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures");
    folder.is_dir().then_some(folder)
}

/// Every reference: the project's own, then additional ones.
pub(crate) fn references() -> Vec<Reference> {
    let below = |folder: PathBuf, what: &'static str, models: Vec<(&'static str, &'static str)>| {
        models.into_iter().map(move |(name, text)| Reference {
            name: format!("{what}{name}"),
            folder: folder.join(name),
            text: folder.join(format!("texts/{text}.txt")),
        })
    };
    let additional = additional().map(|folder| below(folder, "additional ", ADDITIONAL.to_vec()));
    let present = additional.into_iter().flatten().filter(|one| one.folder.join("model.safetensors").is_file());
    let families = FAMILIES.map(|name| (name, "encyclopedia"));
    below(fixture(""), "", [&OWN[..], &families].concat()).chain(present).collect()
}

/// The project's own text for models of subword tokens.
pub(crate) fn encyclopedia() -> PathBuf {
    fixture("texts/encyclopedia.txt")
}

/// The project's own text for models of character tokens.
pub(crate) fn tales() -> PathBuf {
    fixture("texts/tales.txt")
}

/// The GPU, including software adapters. Without one the calling test fails, or is skipped and listed.
///
/// A program's first test tunes it, and all use the kernels that won: contests take a software adapter ten seconds.
pub(crate) fn gpu() -> Option<GpuBackend> {
    static KERNELS: OnceLock<String> = OnceLock::new();
    autotune::adopt(KERNELS.get_or_init(|| pollster::block_on(tuned()).unwrap_or_default()));
    match pollster::block_on(GpuBackend::new(BackendChoice::Gpu)) {
        Ok(backend) => Some(backend),
        Err(Error::NoAdapter { why }) => {
            skip::without_gpu(&why);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The winners of all contests.
async fn tuned() -> Result<String, Error> {
    let backend = GpuBackend::new(BackendChoice::Gpu).await?;
    let scale = Scale { shift: vec![0.0; 4], exponent: vec![1; 4] };
    let shape = GramShape { d_in: 4, d_out: 4, folds: 2, mode: GramMode::Exact };
    backend.gram(shape, &scale, &scale).await?;
    Ok(autotune::snapshot())
}

/// The CPU, and the GPU under the same rules as `gpu`.
pub(crate) fn backends() -> Vec<BackendChoice> {
    let gpu = gpu().map(|_| BackendChoice::Gpu);
    [BackendChoice::Cpu].into_iter().chain(gpu).collect()
}

/// Largest |found − expected| / max(1, |expected|) and where; NaN counts as infinite.
pub(crate) fn worst(found: &[f32], expected: &[f32]) -> (f64, usize) {
    assert_eq!(found.len(), expected.len(), "lengths");
    assert!(!found.is_empty(), "nothing to compare");
    let errors = found.iter().zip(expected).map(|(found, expected)| {
        let error = f64::from((found - expected).abs()) / f64::from(expected.abs()).max(1.0);
        if error.is_nan() { f64::INFINITY } else { error }
    });
    errors
        .enumerate()
        .map(|(at, error)| (error, at))
        .fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// Fails if `found` differs from `expected` by more than `tolerance`, or is NaN or absent.
#[track_caller]
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
