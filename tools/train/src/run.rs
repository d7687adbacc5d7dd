//! One run from its first step, or its saved state, to its last.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use straightedge::weights::FolderFiles;

use crate::backend::TrainingBackend;
use crate::device;
use crate::folder;
use crate::recipe::{FineTuning, Plan, Recipe};
use crate::record::Record;
use crate::state;
use crate::text::Batches;
use crate::trainer::Trainer;

/// The bundled models.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/models");
/// Interval between saves of the state.
const SAVE: Duration = Duration::from_secs(60);
/// Interval between progress messages.
const TELL: Duration = Duration::from_secs(10);

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are done.
    Done,
    /// The requested number of steps is done; the run can be resumed.
    Enough,
    /// Stopped on request; the run can be resumed.
    Stopped,
}

/// An open run.
pub struct Run<'a> {
    plan: &'a Plan,
    /// Folder of all runs.
    out: &'a Path,
    tokenizer: &'a [u8],
    trainer: Trainer,
    record: Record,
    batches: Batches,
}

impl<'a> Run<'a> {
    /// Opens the run of `plan` below `out`, resumed from its saved state if there is one, on `backend`.
    pub fn open(plan: &'a Plan, out: &'a Path, tokenizer: &'a [u8], backend: TrainingBackend) -> Result<Self> {
        let recipe = &plan.recipe;
        let device = device::name(backend.device());
        let (trainer, mut record) = match state::load(&state_file(out, recipe), &backend)? {
            Some((trainer, record)) if record.recipe == *recipe => (trainer, record),
            Some(_) => {
                bail!("{} holds a run of another recipe; move it away to begin anew", state_file(out, recipe).display())
            }
            None => (begun(recipe, out, backend)?, Record::new(recipe.clone())),
        };
        record.goes_on_with(device);
        let batches = Batches::new(tokenizer, recipe)?;
        Ok(Self { plan, out, tokenizer, trainer, record, batches })
    }

    /// The record so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Runs until all steps are done, `most` are, or `stop` is set; then saves.
    pub fn go(&mut self, stop: &AtomicBool, most: usize) -> Result<End> {
        let (mut saved, mut reported, begun) =
            (Instant::now(), Instant::now(), (Instant::now(), self.record.steps_done()));
        while self.record.steps_done() < self.plan.recipe.steps {
            if self.plan.checkpoints.contains(&self.record.steps_done()) {
                let name = self.plan.recipe.checkpoint_name(self.record.steps_done());
                self.write_folder(&name)?;
            }
            let stopped = stop.load(Ordering::Relaxed).then_some(End::Stopped);
            if let Some(end) = stopped.or((self.record.steps_done() >= most).then_some(End::Enough)) {
                self.finish()?;
                return Ok(end);
            }
            self.step()?;
            if saved.elapsed() >= SAVE {
                self.save()?;
                saved = Instant::now();
            }
            if reported.elapsed() >= TELL {
                eprintln!("{}", self.progress(begun));
                reported = Instant::now();
            }
        }
        self.finish()?;
        Ok(End::Done)
    }

    /// Writes the state and the model, complete or not.
    fn finish(&self) -> Result<()> {
        self.save()?;
        self.write_folder(&self.plan.recipe.name)
    }

    /// Runs one step and records its results.
    pub fn step(&mut self) -> Result<()> {
        let start = Instant::now();
        let ids = self.batches.ids(self.record.steps_done())?;
        let losses = self.trainer.step(&ids)?;
        if !losses.nll.is_finite() || !losses.gradient_norm.is_finite() {
            bail!("{} diverged at step {}: lower its learning rate", self.plan.recipe.name, self.record.steps_done());
        }
        self.record.add(losses, start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Writes the state.
    pub fn save(&self) -> Result<()> {
        state::save(&state_file(self.out, &self.plan.recipe), &self.trainer, &self.record)
    }

    /// Writes the current model as `name`.
    pub fn write_folder(&self, name: &str) -> Result<()> {
        folder::write(&self.out.join(name), name, &self.trainer, &self.record, self.tokenizer)
    }

    fn progress(&self, (start, from): (Instant, usize)) -> String {
        let Recipe { name, steps, .. } = &self.plan.recipe;
        let done = self.record.steps_done();
        let rate = (done - from) as f64 / start.elapsed().as_secs_f64();
        let tokens = rate * (self.record.tokens() / done.max(1)) as f64;
        let minutes = (steps - done) as f64 / rate / 60.0;
        format!(
            "{name}: step {done} of {steps}, loss {:.3}, {tokens:.0} tokens/s, {minutes:.0} min left",
            self.record.recent(20)
        )
    }
}

/// The trainer before the first step: with drawn weights, or those of the model to fine-tune, from `out` or bundled.
///
/// # Errors
/// If that model cannot be read.
pub fn begun(recipe: &Recipe, out: &Path, backend: TrainingBackend) -> Result<Trainer> {
    let mut trainer = Trainer::new(recipe.clone(), backend)?;
    if let Some(FineTuning { base, .. }) = &recipe.fine_tuning {
        let own = out.join(base);
        let folder = if own.exists() { own } else { Path::new(BUNDLED).join(base) };
        trainer.begin_with(FolderFiles::new(folder))?;
    }
    Ok(trainer)
}

/// Path of a run's saved state.
pub fn state_file(out: &Path, recipe: &Recipe) -> PathBuf {
    out.join(format!("{}.state", recipe.name))
}
