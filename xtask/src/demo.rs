//! `cargo xtask train`: trains the demo models with the package `train/`, and bundles the finished ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use straightedge_api::bundled::{Bundled, DefaultText, Demo, FineTuning};

use crate::command::{cargo, output, root, run};

/// The text that demo models are measured on; no training uses its seed.
const TEXT: &str = "tales:1";
/// Files of a model that a measurement reads.
const READ: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];
/// Further files, for readers and other tools.
const COPIED_FILES: [&str; 3] = ["README.md", "tokenizer_config.json", "training.json"];

/// Trains the named models, then bundles the finished runs in `out`, including checkpoints.
pub(crate) fn train(names: &[String], out: &Path, steps: Option<usize>, device: Option<&str>) -> Result<()> {
    let out = root().join(out);
    if !names.is_empty() {
        let mut train = cargo();
        train.args(["run", "--release", "--package", "straightedge-train"]);
        if device != Some("cpu")
            && let Some(feature) = gpu_feature()
        {
            train.args(["--features", feature]);
        }
        train.arg("--").args(names).arg("--out").arg(&out);
        if let Some(steps) = steps {
            train.arg("--steps").arg(steps.to_string());
        }
        if let Some(device) = device {
            train.arg("--device").arg(device);
        }
        // The trainer handles Ctrl-C: it saves its state and ends.
        ctrlc::set_handler(|| ())?;
        let ended = run(&mut train);
        bundle(&out)?;
        return ended;
    }
    bundle(&out)
}

/// The trainer's feature for this machine's GPU. nvcc compiles CUDA's kernels for the GPU that the driver reports, and
/// a program with them does not start without that driver.
fn gpu_feature() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("metal");
    }
    let answers = |program: &str, question: &str| output(Command::new(program).arg(question)).is_some();
    (answers("nvcc", "--version") && answers("nvidia-smi", "--list-gpus")).then_some("cuda")
}

/// The list of bundled models.
pub(crate) fn index() -> Result<Vec<Bundled>> {
    let path = models().join("index.json");
    let json = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_slice(&json).with_context(|| format!("{} is no list of models", path.display()))
}

fn models() -> PathBuf {
    root().join("web/models")
}

/// Copies the models in `out` to the bundled ones and rewrites their list. A stopped run replaces nothing.
fn bundle(out: &Path) -> Result<()> {
    for folder in folders(out)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if stopped(&name, &record(&folder)?) {
            eprintln!("{name} has not come to the end of its run, and is not bundled");
            continue;
        }
        let target = models().join(&*name);
        fs::create_dir_all(&target).with_context(|| format!("{} cannot be made", target.display()))?;
        for file in READ.iter().chain(&COPIED_FILES) {
            fs::copy(folder.join(file), target.join(file))
                .with_context(|| format!("{} cannot be copied", folder.join(file).display()))?;
        }
    }
    let mut index = index()?;
    index.retain(|bundled| bundled.demo.is_none());
    let mut demos = folders(&models())?.iter().map(|folder| entry(folder)).collect::<Result<Vec<_>>>()?;
    demos.sort_by_key(|bundled| bundled.demo.as_ref().map(place));
    index.extend(demos);
    let path = models().join("index.json");
    fs::write(&path, serde_json::to_string_pretty(&index)? + "\n")
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Whether a model is from a run that was stopped early; a checkpoint is not, because it ends where planned.
fn stopped(name: &str, Record { recipe, losses }: &Record) -> bool {
    losses.len() < recipe.steps && name == recipe.name
}

/// Folders that hold a trained model.
fn folders(parent: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent).with_context(|| format!("{} cannot be listed", parent.display()))? {
        let folder = entry?.path();
        if folder.join("training.json").is_file() {
            found.push(folder);
        }
    }
    found.sort();
    Ok(found)
}

/// The parts of the trainer's record that are needed here.
#[derive(Deserialize)]
struct Record {
    recipe: Recipe,
    losses: Vec<f64>,
}

#[derive(Deserialize)]
struct Recipe {
    name: String,
    family: String,
    seed: u64,
    steps: usize,
    cosine_penalty: f64,
    #[serde(default)]
    mse_penalty: f64,
    fine_tuning: Option<FineTuning>,
}

fn record(folder: &Path) -> Result<Record> {
    let path = folder.join("training.json");
    let json = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_slice(&json).with_context(|| format!("{} is no training record", path.display()))
}

fn entry(folder: &Path) -> Result<Bundled> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Record { recipe, losses } = record(folder)?;
    let mut files = BTreeMap::new();
    for file in READ {
        let size = fs::metadata(folder.join(file)).with_context(|| format!("{name} has no {file}"))?.len();
        files.insert(file.to_owned(), size);
    }
    let recent = &losses[losses.len().saturating_sub(50)..];
    let loss = (!recent.is_empty()).then(|| recent.iter().sum::<f64>() / recent.len() as f64);
    let Recipe { name: run, family, seed, steps, cosine_penalty, mse_penalty, fine_tuning } = recipe;
    let (step, loss) = (losses.len(), loss.map(rounded));
    let demo = Demo { run, family, seed, step, steps, cosine_penalty, mse_penalty, loss, fine_tuning };
    let (title, about) = (title(&demo), about(&demo));
    Ok(Bundled { name, title, about, files, text: DefaultText::Corpus(TEXT.into()), expected: None, demo: Some(demo) })
}

/// Sort key: models at the end of their runs before checkpoints; plain ones before other seeds, regularised and
/// fine-tuned ones.
fn place(demo: &Demo) -> (bool, String, bool, bool, u64, usize) {
    let checkpoint = demo.step < demo.steps;
    (checkpoint, demo.family.clone(), demo.fine_tuning.is_some(), !demo.is_plain(), demo.seed, demo.step)
}

/// Display name of a family.
fn family(demo: &Demo) -> &str {
    match demo.family.as_str() {
        "gpt2" => "GPT-2",
        "gpt_neox" => "GPT-NeoX",
        "llama" => "Llama",
        other => other,
    }
}

fn title(demo: &Demo) -> String {
    let mut title = format!("Demo {}", family(demo));
    if let Some(FineTuning { domain, .. }) = &demo.fine_tuning {
        title += &format!(", fine-tuned on {domain}");
    } else if demo.seed != 1 {
        title += &format!(", seed {}", demo.seed);
    }
    if let Some((regulariser, _)) = demo.regulariser() {
        title += &format!(", regularised by {regulariser}");
    }
    if demo.step < demo.steps {
        title += &format!(", step {} of {}", demo.step, demo.steps);
    }
    title
}

fn about(demo: &Demo) -> String {
    if let Some(FineTuning { base, domain }) = &demo.fine_tuning {
        return format!("{base} after {} further steps of training on generated {domain} alone.", demo.step);
    }
    let training = match demo.step {
        0 => "before its first training step".to_owned(),
        step => format!("after {step} steps of training on generated texts"),
    };
    let penalty = match demo.regulariser() {
        None => "",
        Some(("cosine", _)) => ", with a penalty on layers that turn the residual stream",
        Some(_) => ", with a penalty on layers that move the residual stream far",
    };
    format!("A small {} of our own, seed {}, {training}{penalty}.", family(demo), demo.seed)
}

fn rounded(loss: f64) -> f64 {
    (loss * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_stopped_is_told_from_its_checkpoints_and_from_one_that_ended() {
        let after = |losses: &str| -> Record {
            let recipe = r#"{"name":"a","family":"gpt2","seed":1,"steps":2,"cosine_penalty":0.0}"#;
            serde_json::from_str(&format!(r#"{{"recipe":{recipe},"losses":[{losses}]}}"#)).expect("a record")
        };
        assert!(stopped("a", &after("3")));
        assert!(!stopped("a-step1", &after("3")));
        assert!(!stopped("a", &after("3,2")));
    }
}
