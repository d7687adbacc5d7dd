//! Ordering, extending, resuming and cancelling a measurement.

use leptos::prelude::*;
use straightedge_api::error::Error;
use straightedge_api::job::{Job, Measure};
use straightedge_api::message::{Order, OrderInputs, Unfinished};
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement};
use straightedge_web::comparison::published::SURVEY;
use straightedge_web::continuation::ContinuationState;
use straightedge_web::state::cost;
use straightedge_web::state::form::{Form, ModelChoice};
use straightedge_web::state::run::Run;
use straightedge_web::state::views::job_measures;

use super::browser::{now, request_persistence, scroll_to_results};
use super::state::{Ordered, Session};

impl Session {
    /// Orders the form's measurement, or shows what is wrong.
    pub(crate) fn measure(self) {
        self.measure_as(|_| ());
    }

    /// The same, with settings that the form has no field for.
    pub(crate) fn measure_as(self, finish: impl FnOnce(&mut Job)) {
        let number = self.engine.next_number();
        match self.choices.order(number) {
            Ok(mut order) => {
                finish(&mut order.job);
                self.send(order);
            }
            Err(error) => self.choices.complaint.set(Some(error)),
        }
    }

    /// The estimated duration of the form's measurement.
    pub(crate) fn cost(self) -> Option<String> {
        let (protocol, measures) = self.choices.form.with(|form| (form.protocol(), form.measures.clone()));
        let rows = protocol.ok().filter(|protocol| protocol.check().is_ok())?.rows;
        let name = self.choices.model_name();
        self.results.run.with(|run| {
            let known = run.report().filter(|report| name.as_ref() == Some(&report.model.id));
            cost::of_order(rows, &measures, known.map(|report| (report, !run.is_untouched() && !run.is_opened())))
        })
    }

    /// Adds a measure to the measurement shown, for one block or all: same model, same text, same protocol.
    pub(crate) fn extend(self, measure: Measure, block: Option<usize>) {
        let Some((mut order, handles)) = self.results.ordered.get_value() else { return };
        if let OrderInputs::Model { feed, .. } = &mut order.work {
            let fed = |form: &Form| {
                if measure == Measure::Controls { form.feed_source(&self.choices.bundled()) } else { Ok(None) }
            };
            match self.choices.form.with_untracked(fed) {
                Ok(source) => *feed = source,
                Err(error) => return self.choices.complaint.set(Some(error)),
            }
        }
        order.run = self.engine.next_number();
        let origin = self.results.run.with_untracked(|run| run.origin().unwrap_or(order.run));
        order.result = self.history.key_of(origin);
        order.job.measures = job_measures(measure);
        order.job.blocks = block.and_then(|block| block.to_string().parse().ok());
        if let Err(error) = order.job.check() {
            return self.choices.complaint.set(Some(error));
        }
        self.choices.complaint.set(None);
        self.engine.unfinished.set(None);
        self.continued.state.update(ContinuationState::cancel);
        self.results.run.update(|run| *run = run.extend(order.run));
        self.engine.with_link(|link| link.measure(order, &handles));
    }

    /// Whether the controls were not yet fed by the model that the form names.
    pub(crate) fn is_fed_anew(self) -> bool {
        let index = self.choices.index.get().unwrap_or_default();
        let Ok(Some(named)) = self.choices.form.with(|form| form.feed_source(&index)) else { return false };
        self.results.run.with(|run| {
            let fed = run.report().and_then(|report| report.ordered.as_ref()?.feed.as_ref());
            fed.is_none_or(|fed| fed.id != named.0)
        })
    }

    /// Resumes the unfinished measurement, or requests the files it needs.
    pub(crate) fn resume(self) {
        let Some(Unfinished { result, model, text, handles: needed, .. }) = self.engine.unfinished.get_untracked()
        else {
            return;
        };
        let of_it = |(order, _): &Ordered| order.result == result;
        let ordered = self.results.ordered.get_value().filter(of_it);
        let handles = match &ordered {
            Some((_, handles)) => handles.clone(),
            None => self.choices.handles.with_value(|handles| handles.of_names(&model, &text)),
        };
        if handles.len() != needed {
            let hint = "the page no longer has them: choose the same files again, then press Resume".into();
            let value = format!("resuming without your own files ({needed})");
            return self.choices.complaint.set(Some(Error::InvalidSetting { field: model, value, hint }));
        }
        let number = self.engine.next_number();
        self.with_begun(number, &result.clone(), move |run, order| {
            self.begin_run(run.dated(now()), ordered.or(order.map(|order| (order, Vec::new()))));
            self.engine.with_link(|link| link.resume(number, result, &handles));
        });
    }

    /// Cancels at once; the results stay.
    pub(crate) fn cancel(self) {
        let number = self.results.run.with_untracked(Run::number);
        self.results.run.update(Run::cancel);
        self.show_replaced();
        self.engine.with_link(|link| link.cancel(number));
    }

    fn send(self, mut order: Order) {
        order.result = self.history.key_of(order.run);
        let handles = self.choices.handles_of(&order);
        request_persistence(&order);
        let run = Run::start(order.run, self.choices.expected.get_untracked()).dated(now());
        self.begin_run(run, Some((order.clone(), handles.clone())));
        self.engine.with_link(|link| link.measure(order, &handles));
    }

    /// Shows a starting measurement; it can be extended if its order is known.
    fn begin_run(self, run: Run, ordered: Option<Ordered>) {
        self.cancel_preview();
        self.choices.complaint.set(None);
        self.choices.refused.update(Vec::clear);
        self.continued.state.update(ContinuationState::cancel);
        let known = self.remember_known();
        self.show(run);
        self.compared.overlay.set(known);
        self.results.introduced.set(None);
        self.results.set_order(ordered);
        self.engine.unfinished.set(None);
        scroll_to_results();
    }

    /// The overlay of a starting measurement: the recording or report shown, if it is of the same model, or published
    /// values.
    fn remember_known(self) -> Option<Choice> {
        let ordered = self.choices.form.with_untracked(|form| form.model.clone());
        if let Some(id) = self.results.introduced.get_untracked() {
            return (ordered == ModelChoice::Hub(id)).then(|| Choice::Published(SURVEY.into()));
        }
        let shown = self.results.run.with_untracked(|run| run.report().cloned())?;
        if self.results.run.with_untracked(Run::is_untouched) {
            let is_same = ordered == ModelChoice::Bundled(shown.model.id.clone());
            self.compared.keep(KeptMeasurement::recorded(shown));
            return self.compared.last_kept().filter(|_| is_same);
        }
        let is_replay = !self.results.can_extend.get_untracked();
        self.keep();
        self.compared.last_kept().filter(|_| is_replay)
    }
}
