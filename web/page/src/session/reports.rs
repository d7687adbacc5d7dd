//! Reports in addition to the measurement shown: kept earlier ones, and opened ones.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::error::{Error, Result};
use straightedge_api::report::Report;
use straightedge_web::browser::fetch;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::overlay::KeptMeasurement;
use straightedge_web::comparison::published::may_have;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::View;
use web_sys::File;

use super::state::Session;

impl Session {
    /// Keeps the measurement shown, before another replaces it.
    pub(crate) fn keep(self) {
        let kept = self.results.run.with_untracked(|run| {
            let report = run.report().filter(|report| !report.blocks.is_empty())?;
            Some(KeptMeasurement::new(run.origin()?, run.is_opened(), report.clone()))
        });
        if let Some(kept) = kept {
            self.compared.keep(kept);
        }
    }

    /// Keeps an opened report, and returns its number.
    fn keep_opened(self, report: Report) -> u32 {
        let number = self.engine.next_number();
        self.choices.complaint.set(None);
        self.compared.keep(KeptMeasurement::new(number, true, report));
        number
    }

    /// Opens a report: into the comparison if that is open, as the measurement shown if there is none yet, else as an
    /// overlay of the profile.
    pub(crate) fn open_report(self, file: File) {
        spawn_local(async move {
            match read(&file).await {
                Ok(report) if self.display.view.get_untracked() == View::Compare => {
                    let number = self.keep_opened(report);
                    self.compared.chart.update(|comparison| comparison.add(Key::Measured(number)));
                }
                Ok(report) if self.results.run.with_untracked(Run::is_untouched) => {
                    self.show_received(report, Provenance::File);
                }
                Ok(report) => {
                    self.keep_opened(report);
                    self.compared.overlay.set(self.compared.last_kept());
                }
                Err(error) => self.choices.complaint.set(Some(error)),
            }
        });
    }

    /// Fetches published values once a model that may have some was measured.
    pub(crate) fn load_published_if_any(self) {
        if self.results.run.with_untracked(|run| run.report().is_some_and(|report| may_have(&report.model))) {
            self.load_published();
        }
    }

    /// Shows a report that was not measured here and so cannot be extended.
    pub(super) fn show_received(self, report: Report, provenance: Provenance) {
        self.choices.complaint.set(None);
        self.results.introduced.set(None);
        self.show(Run::received(self.engine.next_number(), report, provenance));
        self.results.set_order(None);
        self.load_published_if_any();
    }
}

async fn read(file: &File) -> Result<Report> {
    let name = file.name();
    let bytes = fetch::bytes(&name, file, 0, file.size() as u64).await?;
    let json = String::from_utf8(bytes)
        .map_err(|why| Error::MalformedReport { file: name.clone(), why: why.utf8_error().to_string() })?;
    Report::from_json(&name, &json)
}
