//! The lesson: its open step, its examples and the progress, which the browser keeps.

use leptos::prelude::*;
use straightedge_web::lesson::progress::Progress;
use straightedge_web::lesson::{Bench, Print, Step, kept};

/// Key of the progress in the browser’s storage.
const KEPT: &str = "straightedge lesson";

/// The lesson.
#[derive(Clone, Copy, Default)]
pub(crate) struct Guide {
    /// The open step; `None` while the lesson is closed.
    pub(crate) step: RwSignal<Option<Step>>,
    /// Settings of its examples.
    pub(crate) bench: RwSignal<Bench>,
    /// Progress.
    pub(crate) progress: RwSignal<Progress>,
    /// Whether the summary behind the last step is open.
    pub(crate) is_at_end: RwSignal<bool>,
    /// Whether it is shown in large type, for a projector.
    pub(crate) is_projected: RwSignal<bool>,
    /// What it prints as.
    pub(crate) paper: RwSignal<Print>,
}

impl Guide {
    /// Whether a step is the one that is shown.
    pub(crate) fn is_open(self, step: Step) -> bool {
        self.step.get() == Some(step) && !self.is_at_end.get()
    }

    /// Opens a step.
    pub(crate) fn go_to(self, step: Step) {
        self.is_at_end.set(false);
        self.step.set(Some(step));
    }

    /// Opens the next step, after the last one the summary, and then leaves the lesson.
    pub(crate) fn next(self) {
        match self.step.get_untracked().unwrap_or_default().next() {
            Some(next) => self.go_to(next),
            None if self.is_at_end.get_untracked() => self.leave(),
            None => self.is_at_end.set(true),
        }
    }

    /// Leaves the lesson; the progress stays.
    pub(crate) fn leave(self) {
        self.is_at_end.set(false);
        self.step.set(None);
    }

    /// Deletes progress and answers, also from the browser's storage, and opens the first step.
    pub(crate) fn start_over(self) {
        self.bench.set(Bench::default());
        self.progress.set(Progress::default());
        self.go_to(Step::default());
    }

    /// Restores progress and answers from the browser's storage, and saves them there from now on.
    pub(in crate::session) fn keep(self) {
        let Self { bench, progress, .. } = self;
        // Some frames deny storage; the lesson then starts anew.
        let Some(storage) = window().local_storage().ok().flatten() else { return };
        if let Some(text) = storage.get_item(KEPT).ok().flatten() {
            let (reached, answers) = kept::read(&text);
            progress.set(reached);
            bench.update(|bench| bench.answers = answers);
        }
        let text =
            Memo::new(move |_| progress.with(|reached| bench.with(|bench| kept::written(reached, &bench.answers))));
        Effect::new(move |_| {
            // If the storage is full, the earlier state stays.
            let _ = storage.set_item(KEPT, &text.get());
        });
    }
}
