//! Results known before measuring: the recording or the published figures of a model.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::bundled::Bundled;
use straightedge_web::browser::fetch;
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement, Metric};
use straightedge_web::comparison::published::{PUBLISHED, SURVEY};
use straightedge_web::state::form::{ModelChoice, find};
use straightedge_web::state::recordings::{is_published, recording};
use straightedge_web::state::run::Run;

use super::state::Session;

impl Session {
    /// The chosen bundled model, if it was recorded.
    pub(crate) fn recorded_model(self) -> Option<String> {
        let name = self.form.with(|form| match &form.model {
            ModelChoice::Bundled(name) => Some(name.clone()),
            _ => None,
        })?;
        self.index.with(|index| {
            let bundled = index.iter().flatten().find(|bundled| bundled.name == name)?;
            recording(bundled).map(|_| name.clone())
        })
    }

    /// Removes the known results of another model; measurements stay.
    pub(crate) fn forget_results_of_model(self) {
        if self.introduced.get_untracked().is_some() {
            self.introduced.set(None);
            self.metric.set(Metric::Lin);
        }
        if self.run.with_untracked(Run::is_untouched) {
            self.show(Run::default());
        }
    }

    /// Shows the recording of a bundled model once loaded, unless something else was done meanwhile.
    pub(crate) fn show_recording(self, bundled: &Bundled) {
        let Some(path) = recording(bundled) else { return };
        let name = bundled.name.clone();
        spawn_local(async move {
            let loaded = fetch::json(&path).await;
            let still_chosen = self.form.with_untracked(|form| form.model == ModelChoice::Bundled(name));
            let is_free = self.run.with_untracked(Run::is_untouched) && self.introduced.with_untracked(Option::is_none);
            // A model without a recording is no error.
            if let (Ok(report), true, true) = (loaded, still_chosen, is_free) {
                // A link may have chosen a block or view of it already.
                self.run.set(Run::recorded(report));
            }
        });
    }

    /// Sets the recording of a bundled model as overlay.
    pub(crate) fn overlay_recording(self, name: &str) {
        let index = self.index.get_untracked().unwrap_or_default();
        let path = match find(&index, name) {
            Ok(bundled) => recording(bundled),
            Err(error) => return self.complaint.set(Some(error)),
        };
        let Some(path) = path else { return };
        spawn_local(async move {
            match fetch::json(&path).await {
                Ok(report) => {
                    self.push_kept(KeptMeasurement::recorded(report));
                    self.overlay.set(self.last_kept());
                }
                Err(error) => self.complaint.set(Some(error)),
            }
        });
    }

    /// The bundled model whose recording is the overlay; `None` for the chosen model, whose recording always becomes
    /// the overlay of its measurement.
    pub(crate) fn overlaid_recording(self, at: usize) -> Option<String> {
        let id = self.kept.with(|kept| {
            let kept = kept.get(at).filter(|kept| kept.origin.is_none())?;
            Some(kept.report.model.id.clone())
        })?;
        self.form.with(|form| (form.model != ModelChoice::Bundled(id.clone())).then_some(id))
    }

    /// Shows the published figures of a hub model; fetches only from the site.
    pub(crate) fn introduce(self, hub_id: &str) {
        if !is_published(hub_id) || !self.run.with_untracked(Run::is_untouched) {
            return;
        }
        let id = hub_id.to_string();
        self.show(Run::default());
        self.introduced.set(Some(id));
        self.metric.set(Metric::Scalar);
        self.overlay.set(Some(Choice::Published(SURVEY.into())));
        self.load_published();
    }

    /// Fetches the published figures once.
    pub(crate) fn load_published(self) {
        if self.published.with_untracked(Option::is_some) {
            return;
        }
        spawn_local(async move {
            match fetch::json(PUBLISHED).await {
                Ok(published) => self.published.set(Some(published)),
                Err(error) => self.complaint.set(Some(error)),
            }
        });
    }

    /// The measurement kept last, as an overlay.
    pub(super) fn last_kept(self) -> Option<Choice> {
        self.kept.with_untracked(|kept| kept.len().checked_sub(1).map(Choice::Kept))
    }
}
