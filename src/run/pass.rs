//! One measurement on one device: what all of its parts share.

use std::cell::Cell;
use std::future::poll_fn;

use web_time::Instant;

use super::events::{Emitter, StageMeter};
use super::memory;
use super::resume_file::Resume;
use crate::backend::Backend;
use crate::corpus::Folds;
use crate::event::{Event, Outcome};
use crate::job::{Job, Measure};
use crate::report::{Seconds, finite};
use crate::trace::{Lane, Span};
use crate::workers::Workers;

/// One measurement on one device, from rows to report.
pub(super) struct Pass<'a, B> {
    pub(super) backend: &'a B,
    pub(super) job: &'a Job,
    pub(super) folds: &'a Folds,
    pub(super) out: &'a Emitter,
    pub(super) workers: Workers,
    /// Rank that the norm before the feed-forward networks implies, where known.
    pub(super) expected_rank: Option<usize>,
    /// Of one network, where there is a model.
    pub(super) ffn_parameters: Option<usize>,
    /// Whether perplexity is asked for, of a model that has one.
    pub(super) has_perplexity: bool,
    /// Whether the blocks' maps are needed once all are measured.
    pub(super) keeps_maps: bool,
    /// Where the sweep is saved, under this key.
    pub(super) resume: Option<&'a dyn Resume>,
    pub(super) key: String,
    pub(super) seconds: Cell<Seconds>,
    pub(super) started: Instant,
}

impl<B: Backend> Pass<'_, B> {
    pub(super) async fn finish(&self, ppl: Option<f64>) {
        let seconds = Seconds { total: self.started.elapsed().as_secs_f64(), ..self.seconds.get() };
        let peak_memory = memory::peak().map(|own| own + self.workers.bytes());
        let outcome = Outcome { ppl: ppl.and_then(finite), seconds, peak_memory };
        self.out.emit(Event::Finished(outcome)).await;
    }

    pub(super) fn asks(&self, measure: Measure) -> bool {
        self.job.measures.contains(&measure)
    }

    /// Rows of some folds.
    pub(super) fn rows(&self, folds: &Folds) -> u64 {
        (folds.all().len() * self.job.protocol.seq_len) as u64
    }

    /// What `work` comes to, with its span told at the end.
    pub(super) async fn span<R>(&self, lane: Lane, block: Option<usize>, work: impl Future<Output = R>) -> R {
        let start = self.started.elapsed().as_secs_f64();
        let (mut work, mut busy) = (std::pin::pin!(work), 0.0);
        let done = poll_fn(|context| {
            let polled = Instant::now();
            let found = work.as_mut().poll(context);
            busy += polled.elapsed().as_secs_f64();
            found
        })
        .await;
        let seconds = self.started.elapsed().as_secs_f64() - start;
        self.out.send(Event::Span(Span { lane, block, start, seconds, busy }));
        done
    }

    /// Adds to the time of a stage.
    pub(super) fn spend(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, spent: f64) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) += spent;
        self.seconds.set(seconds);
    }

    /// Takes over the time of a stage as far as it has come.
    pub(super) fn took(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, meter: &StageMeter) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) = meter.seconds();
        self.seconds.set(seconds);
    }

    /// An encoder predicts no next token: the values are null, with this reason.
    pub(super) fn explain_missing_perplexity(&self) {
        let text = "an encoder predicts no next token, so perplexity and its changes are undefined";
        self.out.warn("no_perplexity", None, text.into());
    }
}
