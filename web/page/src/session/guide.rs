//! Actions of the lesson on the instrument, which all use the visitor's own controls.

use leptos::prelude::*;
use straightedge_api::job::Measure;
use straightedge_web::lesson::Step;
use straightedge_web::lesson::activation::Activation;
use straightedge_web::lesson::many::{INPUTS, Many, ROWS};
use straightedge_web::lesson::progress::{Progress, Shown};
use straightedge_web::state::frame::Part;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::views::{View, is_complete, refusal};

use super::browser::scroll_to_results;
use super::state::{Guide, Session};

impl Session {
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
            let (view, preset) = (self.display.view.get(), self.compared.chart.with(|comparison| comparison.preset()));
            self.results.run.with(|run| {
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
                self.display.open_view(View::Profile);
                self.measure_in_lesson();
            }
            Step::Swap => self.swap_in_lesson(),
            Step::Learned => {
                self.compare(progress.next_preset());
                self.display.open_view(View::Compare);
                scroll_to_results();
            }
            Step::Regimes => {
                self.display.open_view(progress.next_view());
                scroll_to_results();
            }
            Step::Exercises => {}
        }
    }

    /// Measures the chosen model; if it has no recording, the first model is chosen instead, where a link allows it.
    fn measure_in_lesson(self) {
        if self.display.is_free(Part::Model) && untrack(|| self.choices.recorded_model()).is_none() {
            self.choose_bundled(FIRST);
        }
        self.measure();
    }

    /// Shows the loss of each block, and measures it if that was not done here yet.
    fn swap_in_lesson(self) {
        self.display.open_view(View::Losses);
        let (is_here, is_refused) = self.results.run.with_untracked(|run| {
            let report = run.report();
            let is_here = report.is_some_and(|report| is_complete(Measure::Swap, report));
            (is_here, report.and_then(|report| refusal(Measure::Swap, report)).is_some())
        });
        match self.results.can_extend.get_untracked() {
            // The view shows it, or the reason why it is missing.
            true if is_here || is_refused => scroll_to_results(),
            true => self.extend(Measure::Swap, None),
            false => {
                if self.display.is_free(Part::Protocol) {
                    self.choices.form.update(|form| {
                        form.measures.insert(Measure::Swap);
                    });
                }
                self.measure_in_lesson();
            }
        }
    }
}
