//! Continuing a prompt with the chosen model and with some blocks linear: known blocks, ordering, cancelling.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::job::{Blocks, Measure};
use straightedge_web::browser::fetch;
use straightedge_web::comparison::overlay::KeptMeasurement;
use straightedge_web::continuation::{
    BlockList, ContinuationForm, ContinuationState, Linear, RecordedPair, recorded, recorded_path,
};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;

use super::browser::{now, request_persistence};
use super::state::Session;

impl Session {
    /// The blocks of the chosen model with their R² as measured or recorded; else their number from the hub.
    pub(crate) fn known_blocks(self) -> BlockList {
        let Some(name) = self.choices.model_name() else { return BlockList::default() };
        let of = |report: Option<&straightedge_api::report::Report>| {
            report.filter(|report| report.model.id == name).map(BlockList::of_report)
        };
        let measured = self.results.run.with(|run| of(run.report()));
        let known = measured.filter(|known| known.most_linear().is_some());
        let known = known.or_else(|| self.continued.state.with(|continuation| of(continuation.report())));
        let known = known.or_else(|| {
            self.choices.preview.with(|preview| {
                let found = preview.preflight.as_ref()?.as_ref().ok()?;
                (found.id.name() == name).then(|| BlockList::of_number(found.num_hidden_layers))
            })
        });
        known.unwrap_or_default()
    }

    /// The recorded texts of the chosen blocks, until the engine has continued a prompt, and while the form has the
    /// settings of the recording.
    pub(crate) fn recorded_pair(self) -> Option<RecordedPair> {
        let is_idle = self.continued.state.with(|continuation| *continuation.phase() == Phase::Idle);
        let (known, model) = (self.known_blocks(), self.choices.model_name());
        let has_own_text = self.choices.index.with(|index| {
            self.choices.form.with(|form| form.foreign_text(index.as_deref().unwrap_or_default()).is_none())
        });
        let find = |form: &ContinuationForm| {
            self.continued.texts.with(|texts| recorded(texts.as_ref()?, form, &known, model.as_deref()))
        };
        (is_idle && has_own_text).then(|| self.continued.form.with(find))?
    }

    /// Loads the recorded texts once the view that shows them is open with their model.
    pub(super) fn follow_texts(self) {
        Effect::new(move |_| {
            let is_first = self.choices.form.with(|form| form.model == ModelChoice::Bundled(FIRST.into()));
            let is_first_visit = is_first && self.display.view.get() == View::Continuation;
            if !is_first_visit || self.continued.texts.with_untracked(Option::is_some) {
                return;
            }
            spawn_local(async move {
                // The view works without.
                if let Ok(texts) = fetch::json(&recorded_path(FIRST)).await {
                    self.continued.texts.set(Some(texts));
                }
            });
        });
    }

    /// Blocks of one model mean nothing in another: changing the model resets their choice.
    pub(crate) fn keep_blocks_apart(self) {
        Effect::new(move |before: Option<Option<String>>| {
            let now = self.choices.model_name();
            // A model whose files are not chosen yet has no name.
            if before.flatten().is_some_and(|before| now.as_ref() != Some(&before)) {
                self.continued.form.update(|form| form.blocks = None);
            }
            now
        });
    }

    /// Orders the continuation, or shows what is wrong.
    pub(crate) fn continue_prompt(self) {
        if self.results.run.with_untracked(Run::is_running) {
            return;
        }
        let number = self.engine.next_number();
        let settings = self.continued.form.with_untracked(|form| form.continuation());
        let (settings, mut order) = match settings.and_then(|settings| Ok((settings, self.choices.order(number)?))) {
            Ok(both) => both,
            Err(error) => return self.choices.complaint.set(Some(error)),
        };
        order.job.measures = [Measure::Fit].into();
        let known = untrack(|| self.known_blocks());
        order.job.blocks = match self.continued.form.with_untracked(|form| form.linear(&known)) {
            Linear::All => None,
            Linear::Some(blocks) => Some(Blocks::of(blocks)),
        };
        let handles = self.choices.handles_of(&order);
        self.cancel_preview();
        request_persistence(&order);
        self.choices.complaint.set(None);
        self.continued.state.set(ContinuationState::start(number, settings.clone()).dated(now()));
        self.engine.with_link(|link| link.continue_prompt(order, settings, &handles));
    }

    /// Keeps the report of the fit that a continuation ran, so that it can be compared like any measurement.
    pub(super) fn keep_fit(self, number: u32) {
        let report =
            self.continued.state.with_untracked(|state| state.report().filter(|_| state.number() == number).cloned());
        if let Some(report) = report.filter(|report| !report.blocks.is_empty()) {
            self.compared.keep(KeptMeasurement::new(number, false, report));
        }
    }

    /// Cancels at once; the tokens added so far stay.
    pub(crate) fn cancel_continuation(self) {
        let number = self.continued.state.with_untracked(ContinuationState::number);
        self.continued.state.update(ContinuationState::cancel);
        self.engine.with_link(|link| link.cancel(number));
    }
}
