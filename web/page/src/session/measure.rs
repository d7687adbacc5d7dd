//! Ordering, extending, resuming and cancelling a measurement.

use leptos::prelude::*;
use straightedge_api::error::Error;
use straightedge_api::job::{Job, Measure};
use straightedge_api::message::{Order, Unfinished, Work};
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement};
use straightedge_web::comparison::published::SURVEY;
use straightedge_web::continuation::ContinuationState;
use straightedge_web::state::cost;
use straightedge_web::state::form::{Form, ModelChoice};
use straightedge_web::state::run::Run;
use straightedge_web::state::views::job_measures;
use web_sys::File;

use super::browser::{now, request_persistence, scroll_to_results};
use super::state::Session;
use crate::link::Link;

impl Session {
    /// Orders the form's measurement, or shows what is wrong.
    pub(crate) fn measure(self) {
        self.measure_as(|_| ());
    }

    /// The same, with settings that the form has no field for.
    pub(crate) fn measure_as(self, finish: impl FnOnce(&mut Job)) {
        let number = self.next_number();
        let index = self.index.get_untracked().unwrap_or_default();
        match self.form.with_untracked(|form| form.order(number, &index)) {
            Ok(mut order) => {
                finish(&mut order.job);
                self.send(self.with_found_revision(order));
            }
            Err(error) => self.complaint.set(Some(error)),
        }
    }

    /// The estimated duration of the form's measurement.
    pub(crate) fn cost(self) -> Option<String> {
        let (protocol, measures) = self.form.with(|form| (form.protocol(), form.measures.clone()));
        let rows = protocol.ok().filter(|protocol| protocol.check().is_ok())?.rows;
        let name = self.model_name();
        self.run.with(|run| {
            let known = run.report().filter(|report| name.as_ref() == Some(&report.model.id));
            cost::of_order(rows, &measures, known.map(|report| (report, !run.is_untouched() && !run.is_opened())))
        })
    }

    /// Adds a measure to the measurement shown, for one block or all: same model, same text, same protocol.
    pub(crate) fn extend(self, measure: Measure, block: Option<usize>) {
        let Some((mut order, handles)) = self.ordered.get_value() else { return };
        let index = self.index.get_untracked().unwrap_or_default();
        if let Work::Model { feed, .. } = &mut order.work {
            let fed = |form: &Form| if measure == Measure::Controls { form.feed_source(&index) } else { Ok(None) };
            match self.form.with_untracked(fed) {
                Ok(source) => *feed = source,
                Err(error) => return self.complaint.set(Some(error)),
            }
        }
        order.run = self.next_number();
        let origin = self.run.with_untracked(|run| run.origin().unwrap_or(order.run));
        order.result = self.key_of(origin);
        order.job.measures = job_measures(measure);
        order.job.blocks = block.and_then(|block| block.to_string().parse().ok());
        if let Err(error) = order.job.check() {
            return self.complaint.set(Some(error));
        }
        self.complaint.set(None);
        self.unfinished.set(None);
        self.continuation.update(ContinuationState::cancel);
        self.run.update(|run| *run = run.extend(order.run));
        self.with_link(|link| link.measure(order, &handles));
    }

    /// Whether the controls were not yet fed by the model that the form names.
    pub(crate) fn is_fed_anew(self) -> bool {
        let index = self.index.get().unwrap_or_default();
        let Ok(Some(named)) = self.form.with(|form| form.feed_source(&index)) else { return false };
        self.run.with(|run| {
            let fed = run.report().and_then(|report| report.ordered.as_ref()?.feed.as_ref());
            fed.is_none_or(|fed| fed.id != named.0)
        })
    }

    /// Resumes the unfinished measurement, or requests the files it needs.
    pub(crate) fn resume(self) {
        let Some(Unfinished { result, model, text, handles: needed, .. }) = self.unfinished.get_untracked() else {
            return;
        };
        let of_it = |(order, _): &(Order, Vec<File>)| order.result == result;
        let ordered = self.ordered.get_value().filter(of_it);
        let handles = match &ordered {
            Some((_, handles)) => handles.clone(),
            None => self.handles.with_value(|handles| handles.of_names(&model, &text)),
        };
        if handles.len() != needed {
            let hint = "the page no longer has them: choose the same files again, then press Resume".into();
            let value = format!("resuming without your own files ({needed})");
            return self.complaint.set(Some(Error::InvalidSetting { field: model, value, hint }));
        }
        let number = self.next_number();
        self.with_begun(number, &result.clone(), move |run, order| {
            self.begin_run(run.dated(now()), ordered.or(order.map(|order| (order, Vec::new()))));
            self.with_link(|link| link.resume(number, result, &handles));
        });
    }

    /// Deletes the unfinished measurement.
    pub(crate) fn forget_unfinished(self) {
        self.with_link(Link::forget_unfinished);
    }

    /// Cancels at once; the results stay.
    pub(crate) fn cancel(self) {
        let number = self.run.with_untracked(Run::number);
        self.run.update(Run::cancel);
        self.show_replaced();
        self.with_link(|link| link.cancel(number));
    }

    fn send(self, mut order: Order) {
        order.result = self.key_of(order.run);
        let handles = self.handles_of(&order);
        request_persistence(&order);
        let run = Run::start(order.run, self.expected.get_untracked()).dated(now());
        self.begin_run(run, Some((order.clone(), handles.clone())));
        self.with_link(|link| link.measure(order, &handles));
    }

    /// Shows a starting measurement; it can be extended if its order is known.
    fn begin_run(self, run: Run, ordered: Option<(Order, Vec<File>)>) {
        self.cancel_preview();
        self.complaint.set(None);
        self.refused.update(Vec::clear);
        self.continuation.update(ContinuationState::cancel);
        let known = self.remember_known();
        self.show(run);
        self.overlay.set(known);
        self.introduced.set(None);
        self.can_extend.set(ordered.is_some());
        self.ordered.set_value(ordered);
        self.unfinished.set(None);
        scroll_to_results();
    }

    /// The overlay of a starting measurement: the recording or report shown, if it is of the same model, or published
    /// values.
    fn remember_known(self) -> Option<Choice> {
        let ordered = self.form.with_untracked(|form| form.model.clone());
        if let Some(id) = self.introduced.get_untracked() {
            return (ordered == ModelChoice::Hub(id)).then(|| Choice::Published(SURVEY.into()));
        }
        let shown = self.run.with_untracked(|run| run.report().cloned())?;
        if self.run.with_untracked(Run::is_untouched) {
            let is_same = ordered == ModelChoice::Bundled(shown.model.id.clone());
            self.push_kept(KeptMeasurement::recorded(shown));
            return self.last_kept().filter(|_| is_same);
        }
        let is_replay = !self.can_extend.get_untracked();
        self.keep();
        self.last_kept().filter(|_| is_replay)
    }
}
