//! One measurement on one device: the context its parts share.

use std::cell::Cell;

use super::events::{Emitter, StageMeter};
use super::memory;
use super::resume_file::Resume;
use crate::backend::Backend;
use crate::corpus::Folds;
use crate::event::{Event, FinalResults};
use crate::job::{Job, Measure};
use crate::report::{Seconds, Warning, WarningKind, finite};
use crate::stats::bootstrap::FEWEST_WINDOWS;
use crate::workers::Workers;

/// One measurement on one device, from rows to report.
pub(super) struct Pass<'a, B> {
    pub(super) backend: &'a B,
    pub(super) job: &'a Job,
    pub(super) folds: &'a Folds,
    pub(super) out: &'a Emitter,
    pub(super) workers: Workers,
    /// Rank implied by the norm before the feed-forward networks, if known.
    pub(super) expected_rank: Option<usize>,
    /// Parameters of one feed-forward network; `None` without a model.
    pub(super) ffn_parameters: Option<usize>,
    /// Whether perplexity is requested and the model has one.
    pub(super) has_perplexity: bool,
    /// Whether the maps are needed after the last block.
    pub(super) keeps_maps: bool,
    /// Storage for the sweep's state, saved under `key`.
    pub(super) resume: Option<&'a dyn Resume>,
    pub(super) key: String,
    /// Whether the weights were not compared with their hash.
    pub(super) claimed: bool,
    /// Copies of the weights that were discarded as damaged before the measurement began.
    pub(super) discarded: u64,
    pub(super) seconds: Cell<Seconds>,
}

impl<B: Backend> Pass<'_, B> {
    pub(super) async fn finish(&self, ppl: Option<f64>) {
        let seconds = Seconds { total: self.out.elapsed(), ..self.seconds.get() };
        let peak_memory = memory::peak().map(|own| own + self.workers.bytes());
        let outcome = FinalResults { ppl: ppl.and_then(finite), seconds, peak_memory };
        self.out.emit(Event::Finished(outcome)).await;
    }

    pub(super) fn asks(&self, measure: Measure) -> bool {
        self.job.measures.contains(&measure)
    }

    /// Whether rows are measured that were captured elsewhere, without their model.
    pub(super) fn is_of_rows(&self) -> bool {
        self.ffn_parameters.is_none()
    }

    /// Number of rows in `folds`.
    pub(super) fn rows(&self, folds: &Folds) -> u64 {
        (folds.all().len() * self.job.protocol.seq_len) as u64
    }

    /// Adds to the time of a stage.
    pub(super) fn add_seconds(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, spent: f64) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) += spent;
        self.seconds.set(seconds);
    }

    /// Sets the time of a stage to the meter's.
    pub(super) fn set_seconds(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, meter: &StageMeter) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) = meter.seconds();
        self.seconds.set(seconds);
    }

    /// Warns if a perplexity that the model has is not finite.
    pub(super) fn explain_undefined(&self, ppl: Option<f64>) {
        if ppl.is_some_and(|ppl| !ppl.is_finite()) {
            self.out.warn(Warning::new(&WarningKind::UndefinedPerplexity));
        }
    }

    /// Warns if there are too few held-out windows for intervals.
    pub(super) fn explain_missing_intervals(&self) {
        let heldout = self.folds.windows(self.folds.len() - 1).len();
        if heldout < FEWEST_WINDOWS {
            self.out.warn(Warning::new(&WarningKind::FewWindows { heldout, fewest: FEWEST_WINDOWS }));
        }
    }

    /// Warns that an encoder predicts no next token, which is why the values are null.
    pub(super) fn explain_missing_perplexity(&self) {
        self.out.warn(Warning::new(&WarningKind::NoPerplexity));
    }
}
