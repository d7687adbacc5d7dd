//! Results known before measuring: the recording or the published figures of a model.

use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::de::DeserializeOwned;
use straightedge_api::bundled::Bundled;
use straightedge_web::browser::fetch;
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement, Metric};
use straightedge_web::comparison::published::{PUBLISHED, SURVEY};
use straightedge_web::state::form::{ModelChoice, find};
use straightedge_web::state::recordings::{is_published, recording};
use straightedge_web::state::run::Run;

use super::state::Session;

impl Session {
    /// Removes the known results of another model; measurements stay.
    pub(crate) fn forget_results_of_model(self) {
        if self.results.introduced.get_untracked().is_some() {
            self.results.introduced.set(None);
            self.compared.metric.set(Metric::Lin);
        }
        if self.results.run.with_untracked(Run::is_untouched) {
            self.show(Run::default());
        }
    }

    /// Shows the recording of a bundled model once loaded, unless something else was done meanwhile.
    pub(crate) fn show_recording(self, bundled: &Bundled) {
        let Some(path) = recording(bundled) else { return };
        let name = bundled.name.clone();
        spawn_local(async move {
            let loaded = fetch::json(&path).await;
            let still_chosen = self.choices.form.with_untracked(|form| form.model == ModelChoice::Bundled(name));
            let is_free = self.results.run.with_untracked(Run::is_untouched)
                && self.results.introduced.with_untracked(Option::is_none);
            // A model without a recording is no error.
            if let (Ok(report), true, true) = (loaded, still_chosen, is_free) {
                // A link may have chosen a block or view of it already.
                self.results.run.set(Run::recorded(report));
            }
        });
    }

    /// Sets the recording of a bundled model as overlay.
    pub(crate) fn overlay_recording(self, name: &str) {
        let path = match find(&self.choices.bundled(), name) {
            Ok(bundled) => recording(bundled),
            Err(error) => return self.choices.complaint.set(Some(error)),
        };
        let Some(path) = path else { return };
        self.fetch(path, move |report| {
            self.compared.keep(KeptMeasurement::recorded(report));
            self.compared.overlay.set(self.compared.last_kept());
        });
    }

    /// The bundled model whose recording is the overlay; `None` for the chosen model, whose recording always becomes
    /// the overlay of its measurement.
    pub(crate) fn overlaid_recording(self, at: usize) -> Option<String> {
        let id = self.compared.kept.with(|kept| {
            let kept = kept.get(at).filter(|kept| kept.origin.is_none())?;
            Some(kept.report.model.id.clone())
        })?;
        self.choices.form.with(|form| (form.model != ModelChoice::Bundled(id.clone())).then_some(id))
    }

    /// Shows the published figures of a hub model; fetches only from the site.
    pub(crate) fn introduce(self, hub_id: &str) {
        if !is_published(hub_id) || !self.results.run.with_untracked(Run::is_untouched) {
            return;
        }
        let id = hub_id.to_string();
        self.show(Run::default());
        self.results.introduced.set(Some(id));
        self.compared.metric.set(Metric::Scalar);
        self.compared.overlay.set(Some(Choice::Published(SURVEY.into())));
        self.load_published();
    }

    /// Fetches the published figures once.
    pub(crate) fn load_published(self) {
        if self.compared.published.with_untracked(Option::is_none) {
            self.fetch(PUBLISHED, move |published| self.compared.published.set(Some(published)));
        }
    }

    /// Fetches a file of the site and passes it on, or shows what is wrong.
    pub(super) fn fetch<T: DeserializeOwned + 'static>(self, path: impl Into<String>, then: impl FnOnce(T) + 'static) {
        let path = path.into();
        spawn_local(async move {
            match fetch::json(&path).await {
                Ok(content) => then(content),
                Err(error) => self.choices.complaint.set(Some(error)),
            }
        });
    }
}
