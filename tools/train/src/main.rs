//! `cargo xtask train NAME…|all`: trains the demo models, or resumes stopped runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::Parser;
use straightedge_train::backend::TrainingBackend;
use straightedge_train::device::{self, DeviceChoice};
use straightedge_train::recipe::Plan;
use straightedge_train::run::{End, Run};
use straightedge_train::tokenizer;

/// Trains the demo models of Straightedge.
#[derive(Parser)]
struct Args {
    /// Models to train, or all.
    #[arg(required = true)]
    names: Vec<String>,
    /// Folder for models and for the saved states of stopped runs.
    #[arg(long, default_value = "target/demo")]
    out: PathBuf,
    /// Stop every run after this many steps; the same command continues it.
    #[arg(long)]
    steps: Option<usize>,
    /// Where to compute; by default a GPU if there is one.
    #[arg(long)]
    device: Option<DeviceChoice>,
}

fn main() -> ExitCode {
    match train(&Args::parse()) {
        Ok(End::Done | End::Enough) => ExitCode::SUCCESS,
        Ok(End::Stopped) => ExitCode::from(130),
        Err(error) => {
            eprintln!("train: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn train(args: &Args) -> Result<End> {
    let plans = chosen(&args.names)?;
    let chosen = device::choose(args.device)?;
    eprintln!("{}", chosen.line);
    let backend = TrainingBackend::on(chosen.device);
    fs::create_dir_all(&args.out).with_context(|| format!("{} cannot be made", args.out.display()))?;
    let stop = stop_flag()?;
    for plan in &plans {
        let tokenizer = shared_tokenizer(&args.out, plan.recipe.size.vocab_size)?;
        let mut run = Run::open(plan, &args.out, &tokenizer, backend.clone())?;
        eprintln!("{}: from step {} of {}", plan.recipe.name, run.record().steps_done(), plan.recipe.steps);
        let end = run.go(&stop, args.steps.unwrap_or(usize::MAX))?;
        if end != End::Done {
            let (name, done) = (&plan.recipe.name, run.record().steps_done());
            eprintln!("{name}: stopped after step {done}; the same command continues from there");
        }
        if end == End::Stopped {
            return Ok(End::Stopped);
        }
    }
    Ok(End::Done)
}

fn chosen(names: &[String]) -> Result<Vec<Plan>> {
    let plans = Plan::all();
    let known: Vec<String> = plans.iter().map(|plan| plan.recipe.name.clone()).collect();
    if let Some(unknown) = names.iter().find(|name| *name != "all" && !known.contains(name)) {
        bail!("{unknown} is no demo model; give all, or some of {}", known.join(", "));
    }
    let is_selected = |plan: &Plan| names.iter().any(|name| name == "all" || *name == plan.recipe.name);
    Ok(plans.into_iter().filter(is_selected).collect())
}

/// The tokenizer shared by all runs, trained by the first.
fn shared_tokenizer(out: &Path, vocab_size: usize) -> Result<Vec<u8>> {
    let path = out.join("tokenizer.json");
    if !path.exists() {
        eprintln!("tokenizer: learning {vocab_size} entries");
        straightedge_train::state::write_whole(&path, tokenizer::train(vocab_size)?.as_bytes())?;
    }
    fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
}

/// A flag set by Ctrl-C.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed))?;
    Ok(flag)
}
