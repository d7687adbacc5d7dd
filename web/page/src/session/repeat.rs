//! Measuring here what has known results: a recording, published figures, an opened report.

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
        if self.display.view.get_untracked() == View::Continuation {
            self.display.open_view(View::Profile);
        }
        match self.results.introduced.get_untracked() {
            Some(id) => {
                let is_chosen =
                    self.choices.form.with_untracked(|form| matches!(&form.model, ModelChoice::Hub(own) if *own == id));
                if !is_chosen {
                    let measures = self.choices.form.with_untracked(|form| form.measures.clone());
                    self.choose_hub(&id);
                    self.choices.form.update(|form| form.measures = measures);
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
            self.choices.form.update(|form| {
                form.measures.insert(measure);
            });
        }
        self.measure_shown();
    }

    /// Whether views can order more measures: nothing was measured or opened yet, and the protocol is free.
    pub(crate) fn can_order_more(self) -> bool {
        self.display.frame.with(|frame| !frame.is_embedded && !frame.locked.contains(&Part::Protocol))
            && self.results.run.with(Run::is_untouched)
    }

    /// The recording shown, if the form repeats it.
    fn repeated_recording(self) -> Option<Report> {
        let report = self.results.run.with_untracked(|run| run.report().filter(|_| run.is_untouched()).cloned())?;
        let is_repeated = self.choices.form.with_untracked(|form| form.repeats(&report, &self.choices.bundled()));
        is_repeated.then_some(report)
    }

    /// Repeats the measurement of an opened report with all its measures.
    pub(crate) fn replay(self) {
        let Some(report) = self.results.run.with_untracked(|run| run.report().cloned()) else { return };
        let mut form = self.choices.form.get_untracked();
        match form.repeat(&report, &self.choices.bundled()) {
            Ok(()) => {
                form.measures = measures_of(&report);
                self.choices.form.set(form);
                self.order_like(report);
            }
            Err(error) => self.choices.complaint.set(Some(error)),
        }
    }

    /// Orders the form's measurement as a repetition of a report, with that report as overlay.
    fn order_like(self, report: Report) {
        let replaced =
            (self.results.run.get_untracked(), self.compared.kept.get_untracked(), self.history.current.get_value());
        self.measure_as(|job| copy_settings(job, &report));
        if self.results.run.with_untracked(Run::is_running) {
            self.results.repeated.set(Some(report));
            self.results.replaced.set_value(Some(replaced));
        }
    }

    /// Measures the model of a recording as it was recorded, with the recording as overlay.
    pub(crate) fn measure_recorded(self, key: &Key) {
        let Some(name) = key.bundled() else { return };
        self.choose_bundled(name);
        let usual = Protocol::default();
        let measures = self.compared.measures_for(key);
        self.choices.form.update(|form| {
            form.set_protocol(&Protocol { gram: form.gram, ..usual.clone() });
            form.measures = measures;
        });
        self.measure();
        let number = self.results.run.with_untracked(|run| run.origin().filter(|_| *run.phase() == Phase::Running));
        if let Some(number) = number {
            self.compared.chart.update(|comparison| comparison.add(key.measured_as(number)));
        }
    }

    /// Carries out what was clicked before the page was ready.
    pub(crate) fn act_on_early_press(self) {
        let Some(root) = document().document_element() else { return };
        if let Some(blocks) = root.get_attribute("data-linear") {
            let blocks = blocks.split(',').filter_map(|block| block.parse().ok()).collect();
            self.continued.form.update(|form| form.blocks = Some(Linear::Some(blocks)));
        }
        if root.get_attribute("data-pressed").is_some() {
            self.measure_shown();
        }
        // From now on presses take effect at once, so early.js stops remembering them.
        announce("page ready");
    }
}
