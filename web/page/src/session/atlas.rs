//! Actions on the models measured when this copy of the page was built.

use leptos::prelude::*;
use straightedge_api::atlas::{Index, Measured};
use straightedge_api::error::Error;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::atlas::{ATLAS, report};
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::View;
use straightedge_web::text::t;

use super::browser::scroll_to_results;
use super::state::Session;

impl Session {
    /// Fetches their list once.
    pub(crate) fn load_atlas(self) {
        if self.compared.atlas.with_untracked(Option::is_none) {
            self.fetch(ATLAS, move |index| {
                self.refuse_absent(&index);
                self.compared.atlas.set(Some(index));
            });
        }
    }

    /// Removes models from the comparison that a link names but this build lacks.
    fn refuse_absent(self, index: &Index) {
        let is_there = |slug: &str| index.models.iter().any(|entry| entry.slug == slug && entry.measured.is_some());
        let absent = |key: &Key| match key {
            Key::Atlas(slug) => !is_there(slug),
            Key::Control(base, _) => matches!(&**base, Key::Atlas(slug) if !is_there(slug)),
            _ => false,
        };
        let entries = self.compared.chart.with_untracked(|comparison| comparison.entries().to_vec());
        for key in entries.into_iter().map(|entry| entry.key).filter(absent) {
            self.compared.chart.update(|comparison| comparison.remove(&key));
            let hint = t().atlas_absent.into();
            self.choices.complaint.set(Some(Error::InvalidSetting { field: "runs".into(), value: key.value(), hint }));
        }
    }

    /// Opens a known profile: a recording, published values, or a model measured with this copy of the page.
    pub(crate) fn open_profile(self, key: &Key) {
        match key {
            Key::Recorded(name) => self.choose_bundled(name),
            Key::Published(model, _) => {
                let id = self.compared.published.with_untracked(|published| {
                    let found = published.iter().flat_map(|published| &published.models);
                    found.into_iter().find(|known| known.name == *model).map(|known| known.hub_id.clone())
                });
                let Some(id) = id else { return };
                self.choose_hub(&id);
            }
            Key::Atlas(slug) => {
                let measured = self.compared.atlas.with_untracked(|atlas| {
                    let entry = atlas.iter().flat_map(|index| &index.models).find(|entry| entry.slug == *slug)?;
                    entry.measured.clone()
                });
                return measured.iter().for_each(|measured| self.open_atlas(measured));
            }
            Key::Measured(_) | Key::Control(..) => return,
        }
        self.display.open_view(View::Profile);
        scroll_to_results();
    }

    /// Shows the report of one, like a report from a file.
    pub(crate) fn open_atlas(self, measured: &Measured) {
        let Some(path) = report(measured) else { return };
        self.fetch(path, move |report| {
            if !self.results.run.with_untracked(Run::is_running) {
                self.keep();
                self.show_received(report, Provenance::File);
                self.display.open_view(View::Profile);
                scroll_to_results();
            }
        });
    }
}
