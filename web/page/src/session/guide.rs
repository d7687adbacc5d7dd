//! State of the lesson, and its actions on the instrument, which all use the visitor's own controls.

use leptos::prelude::*;
use straightedge_api::job::Measure;
use straightedge_web::lesson::activation::Activation;
use straightedge_web::lesson::many::{INPUTS, Many, ROWS};
use straightedge_web::lesson::progress::{Progress, Shown};
use straightedge_web::lesson::{Bench, Step, kept};
use straightedge_web::state::frame::Part;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::{View, is_complete, refusal};

use super::browser::scroll_to_results;
use super::state::{Guide, Session};

/// Key of the progress in the browser’s storage.
const KEPT: &str = "straightedge lesson";

impl Session {
    /// Opens a step of the lesson.
    pub(crate) fn go_to(self, step: Step) {
        self.guide.is_at_end.set(false);
        self.guide.step.set(Some(step));
    }

    /// Opens the next step, after the last one the summary, and then leaves the lesson.
    pub(crate) fn next_in_lesson(self) {
        let Guide { step, is_at_end, .. } = self.guide;
        match step.get_untracked().unwrap_or_default().next() {
            Some(next) => self.go_to(next),
            None if is_at_end.get_untracked() => self.leave_lesson(),
            None => is_at_end.set(true),
        }
    }

    /// Leaves the lesson; the progress stays.
    pub(crate) fn leave_lesson(self) {
        self.guide.is_at_end.set(false);
        self.guide.step.set(None);
    }

    /// Deletes progress and answers, also from the browser's storage, and opens the first step.
    pub(crate) fn start_lesson_over(self) {
        self.guide.bench.set(Bench::default());
        self.guide.progress.set(Progress::default());
        self.go_to(Step::default());
    }

    /// Restores progress and answers from the browser's storage, and saves them there from now on.
    pub(crate) fn keep_lesson(self) {
        let Guide { bench, progress, .. } = self.guide;
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

    /// Updates the progress from the state of the examples and the page from now on.
    pub(crate) fn follow_lesson(self) {
        let Guide { bench, progress, .. } = self.guide;
        let note = move |preview: &dyn Fn(&mut Progress)| {
            progress.maybe_update(|progress| {
                let before = progress.clone();
                preview(progress);
                *progress != before
            });
        };
        Effect::new(move |_| bench.with(|bench| note(&|progress| progress.update_from_examples(bench))));
        let answers = Memo::new(move |_| bench.with(|bench| bench.answers.clone()));
        Effect::new(move |_| {
            let (view, preset) = (self.view.get(), self.comparison.with(|comparison| comparison.preset()));
            self.run.with(|run| {
                answers
                    .with(|answers| note(&|progress| progress.update_from_page(Shown { run, view, preset }, answers)));
            });
        });
        // Not only for the step that shows them: the handout has all charts, whichever step is open.
        self.load_published();
    }

    /// Does the task of a step.
    pub(crate) fn do_step(self, step: Step) {
        let bench = self.guide.bench;
        let progress = self.guide.progress.get_untracked();
        match step {
            Step::Network => bench.update(|bench| bench.network.activation = Activation::Identity),
            Step::Line => bench.update(|bench| bench.hand.straighten()),
            Step::Many => bench.update(|bench| bench.many = Many { inputs: INPUTS, rows: ROWS[0] }),
            Step::Traps => bench.update(|bench| bench.traps.show(progress.next_trap())),
            Step::Measure => {
                self.open_view(View::Profile);
                self.measure_in_lesson();
            }
            Step::Swap => self.swap_in_lesson(),
            Step::Learned => {
                self.compare(progress.next_preset());
                self.open_view(View::Compare);
                scroll_to_results();
            }
            Step::Regimes => {
                self.open_view(progress.next_view());
                scroll_to_results();
            }
            Step::Exercises => {}
        }
    }

    /// Whether a link neither hides nor locks a part.
    fn is_free(self, part: Part) -> bool {
        self.frame.with_untracked(|frame| !frame.locked.contains(&part) && !frame.hidden.contains(&part))
    }

    /// Measures the chosen model; if it has no recording, the first model is chosen instead, where a link allows it.
    fn measure_in_lesson(self) {
        if self.is_free(Part::Model) && untrack(|| self.recorded_model()).is_none() {
            self.choose_bundled(FIRST);
        }
        self.measure();
    }

    /// Shows the loss of each block, and measures it if that was not done here yet.
    fn swap_in_lesson(self) {
        self.open_view(View::Losses);
        let (is_here, is_refused) = self.run.with_untracked(|run| {
            let report = run.report();
            let is_here = report.is_some_and(|report| is_complete(Measure::Swap, report));
            (is_here, report.and_then(|report| refusal(Measure::Swap, report)).is_some())
        });
        match self.can_extend.get_untracked() {
            // The view shows it, or the reason why it is missing.
            true if is_here || is_refused => scroll_to_results(),
            true => self.extend(Measure::Swap, None),
            false => {
                if self.is_free(Part::Protocol) {
                    self.form.update(|form| {
                        form.measures.insert(Measure::Swap);
                    });
                }
                self.measure_in_lesson();
            }
        }
    }

    /// Whether a step is blocked at present because something is being measured.
    pub(crate) fn is_busy_for(self, step: Step) -> bool {
        let is_running = self.run.with(Run::is_running);
        is_running && matches!(step, Step::Measure | Step::Swap)
    }
}
