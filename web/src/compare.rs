//! What the session compares with: earlier measurements, opened reports, published values.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge::error::{Error, Result};
use straightedge::report::Report;
use straightedge_web::fetch;
use straightedge_web::overlay::{Choice, Kept, Metric, Overlay, sums};
use straightedge_web::published::{Published, PublishedModel, may_have};
use straightedge_web::run::Run;
use straightedge_web::texts::{fill, t};
use web_sys::File;

use crate::session::Session;

/// More measurements than anybody lays over each other.
const MOST_KEPT: usize = 20;

impl Session {
    /// Keeps the measurement shown, before another takes its place.
    pub(crate) fn keep(self) {
        let is_measured = |run: &Run| !run.is_untouched() && !run.blocks().is_empty();
        let report = self.run.with_untracked(|run| run.report().filter(|_| is_measured(run)).cloned());
        if let Some(report) = report {
            self.kept.update(|kept| {
                kept.push(Kept::new(report));
                if kept.len() > MOST_KEPT {
                    kept.remove(0);
                }
            });
        }
    }

    /// Opens a report: as the measurement shown where there is none yet, else laid over the profile.
    pub(crate) fn open_report(self, file: File) {
        spawn_local(async move {
            match read(&file).await {
                Ok(report) if self.run.with_untracked(Run::is_untouched) => self.show_opened(report),
                Ok(report) => {
                    self.complaint.set(None);
                    self.kept.update(|kept| kept.push(Kept::new(report)));
                    self.overlay.set(self.kept.with_untracked(|kept| kept.len().checked_sub(1).map(Choice::Kept)));
                }
                Err(error) => self.complaint.set(Some(error)),
            }
        });
    }

    /// Fetches published values once a model has come that may have some.
    pub(crate) fn look_up(self) {
        let is_candidate = self.run.with_untracked(|run| run.report().is_some_and(|report| may_have(&report.model)));
        if is_candidate {
            self.load_published();
        }
    }

    /// Corpora of the published values about the model shown; the survey's first.
    pub(crate) fn published_corpora(self) -> Vec<String> {
        self.published.with(|published| {
            published.as_ref().and_then(|published| Some(self.model_in(published)?.corpora())).unwrap_or_default()
        })
    }

    /// The published model that is the one measured, or introduced before.
    fn model_in(self, published: &Published) -> Option<&PublishedModel> {
        match self.introduced.get() {
            Some(id) => published.models.iter().find(|model| model.hub_id == id),
            None => self.run.with(|run| published.of(run.report()?)),
        }
    }

    /// Lays something over the profile; published values are of the scalar kind.
    pub(crate) fn lay_over(self, choice: Option<Choice>) {
        if matches!(choice, Some(Choice::Published(_))) {
            self.metric.set(Metric::Scalar);
        }
        self.overlay.set(choice);
    }

    /// What is laid over the profile, ready to be drawn.
    pub(crate) fn overlay_shown(self) -> Option<Overlay> {
        match self.overlay.get()? {
            Choice::Kept(at) => self.kept.with(|kept| {
                let kept = kept.get(at)?;
                let sums = self.run.with(|run| sums(run.report()?, &kept.report));
                let note = [Some(fill(t().overlay_kept_note, &[("name", &kept.name)])), sums];
                let note = note.into_iter().flatten().collect::<Vec<_>>().join(" ");
                Some(Overlay { name: kept.name.clone(), values: self.metric.get().by_block(&kept.report), note })
            }),
            Choice::Published(corpus) => {
                if self.metric.get() != Metric::Scalar {
                    return None;
                }
                self.published.with(|published| {
                    let published = published.as_ref()?;
                    let values = self.model_in(published)?.on(&corpus);
                    let note = [("source", published.source.as_str()), ("how", &published.how)];
                    let name = fill(t().overlay_published, &[("corpus", &corpus)]);
                    Some(Overlay { name, values, note: fill(t().overlay_published_note, &note) })
                })
            }
        }
    }
}

async fn read(file: &File) -> Result<Report> {
    let name = file.name();
    let bytes = fetch::bytes(&name, file, 0, file.size() as u64).await?;
    let json = String::from_utf8(bytes)
        .map_err(|why| Error::MalformedReport { file: name.clone(), why: why.utf8_error().to_string() })?;
    Report::from_json(&name, &json)
}

/// Whether anything can be laid over the profile of this run.
pub(crate) fn has_profile(run: &Run) -> bool {
    !run.blocks().is_empty()
}
