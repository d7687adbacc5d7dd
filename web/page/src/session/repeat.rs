//! Measuring here what has known results: a recording, published figures, an opened report.

use std::collections::BTreeSet;

use leptos::prelude::*;
use straightedge_api::job::{Measure, Protocol};
use straightedge_api::report::Report;
use straightedge_web::comparison::Key;
use straightedge_web::continuation::Linear;
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::frame::Part;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use straightedge_web::url::repeat::{copy_settings, measures_of};

use super::browser::announce;
use super::state::Session;

impl Session {
    /// Measures the chosen model, or, if published values are shown, the model of these. A recording of the same
    /// measurement becomes the overlay.
    pub(crate) fn measure_shown(self) {
        // Texts show nothing of a measurement.
        if self.view.get_untracked() == View::Continuation {
            self.open_view(View::Profile);
        }
        match self.introduced.get_untracked() {
            Some(id) => {
                let is_chosen =
                    self.form.with_untracked(|form| matches!(&form.model, ModelChoice::Hub(own) if *own == id));
                if !is_chosen {
                    let measures = self.form.with_untracked(|form| form.measures.clone());
                    self.choose_hub(&id);
                    self.form.update(|form| form.measures = measures);
                }
                self.measure();
            }
            None => match self.repeated_recording() {
                Some(report) => self.order_like(report),
                None => self.measure(),
            },
        }
    }

    /// The same with one more measure.
    pub(crate) fn measure_with(self, measure: Measure) {
        if measure != Measure::Fit {
            self.form.update(|form| {
                form.measures.insert(measure);
            });
        }
        self.measure_shown();
    }

    /// Whether views can order more measures of what is shown, because nothing of it was measured or opened yet and the
    /// protocol is free.
    pub(crate) fn can_order_more(self) -> bool {
        self.frame.with(|frame| !frame.is_embedded && !frame.locked.contains(&Part::Protocol))
            && self.run.with(Run::is_untouched)
    }

    /// The recording shown, if the form repeats it.
    fn repeated_recording(self) -> Option<Report> {
        let report = self.run.with_untracked(|run| run.report().filter(|_| run.is_untouched()).cloned())?;
        let index = self.index.get_untracked().unwrap_or_default();
        let is_repeated = self.form.with_untracked(|form| form.repeats(&report, &index));
        is_repeated.then_some(report)
    }

    /// Repeats the measurement of an opened report with all its measures.
    pub(crate) fn replay(self) {
        let Some(report) = self.run.with_untracked(|run| run.report().cloned()) else { return };
        let index = self.index.get_untracked().unwrap_or_default();
        let mut form = self.form.get_untracked();
        match form.repeat(&report, &index) {
            Ok(()) => {
                form.measures = measures_of(&report);
                self.form.set(form);
                self.order_like(report);
            }
            Err(error) => self.complaint.set(Some(error)),
        }
    }

    /// Orders the form's measurement as a repetition of a report, with that report as overlay.
    fn order_like(self, report: Report) {
        let replaced = (self.run.get_untracked(), self.kept.get_untracked(), self.history.current.get_value());
        self.measure_as(|job| copy_settings(job, &report));
        if self.run.with_untracked(Run::is_running) {
            self.repeated.set(Some(report));
            self.replaced.set_value(Some(replaced));
        }
    }

    /// Measures the model of a recording as it was recorded, with the recording as overlay.
    pub(crate) fn measure_recorded(self, key: &Key) {
        let Some(name) = key.bundled() else { return };
        self.choose_bundled(name);
        let usual = Protocol::default();
        let measures = self.measures_for(key);
        self.form.update(|form| {
            form.set_protocol(&Protocol { gram: form.gram, ..usual.clone() });
            form.measures = measures;
        });
        self.measure();
        let number = self.run.with_untracked(|run| run.origin().filter(|_| *run.phase() == Phase::Running));
        if let Some(number) = number {
            self.comparison.update(|comparison| comparison.add(key.measured_as(number)));
        }
    }

    /// Measures needed by the charts shown.
    fn measures_for(self, key: &Key) -> BTreeSet<Measure> {
        let control = matches!(key, Key::Control(..)).then_some(Measure::Controls);
        let shown = self.comparison.with_untracked(|comparison| comparison.quantities());
        let charts = shown.iter().filter_map(|field| field.line().chart);
        [Measure::Fit].into_iter().chain(control).chain(charts.map(|chart| chart.measure)).collect()
    }

    /// Carries out what was clicked before the page was ready.
    pub(crate) fn act_on_early_press(self) {
        let Some(root) = document().document_element() else { return };
        if let Some(blocks) = root.get_attribute("data-linear") {
            let blocks = blocks.split(',').filter_map(|block| block.parse().ok()).collect();
            self.continuation_form.update(|form| form.blocks = Some(Linear::Some(blocks)));
        }
        if root.get_attribute("data-pressed").is_some() {
            self.measure_shown();
        }
        // From now on presses take effect at once, so early.js stops remembering them.
        announce("page ready");
    }
}
