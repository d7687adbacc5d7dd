//! Comparisons: measurements in one chart, and the overlay of the profile.

use leptos::prelude::*;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement, Metric, Overlay, distinct_name, sums};
use straightedge_web::comparison::presets::Preset;
use straightedge_web::comparison::published::{Published, PublishedModel};
use straightedge_web::comparison::sources::{Measured, RECORDED, Sources};
use straightedge_web::text::{fill, t};

use super::state::Session;

impl Session {
    /// Loads everything comparable; the first time it shows the measurement with its recording, or a preset.
    pub(crate) fn begin_comparing(self) {
        self.load_published();
        self.load_atlas();
        if self.compared.recorded.with_untracked(Option::is_some) {
            return self.fill_comparison();
        }
        self.fetch(RECORDED, move |recorded| {
            self.compared.recorded.set(Some(recorded));
            self.fill_comparison();
        });
    }

    fn fill_comparison(self) {
        if self.compared.chart.with_untracked(|comparison| !comparison.entries().is_empty()) {
            return;
        }
        let present = self.results.run.with_untracked(|run| run.origin().filter(|_| !run.blocks().is_empty()));
        match present {
            Some(origin) => {
                let recording = untrack(|| self.known()).counterpart(origin);
                let keys = recording.into_iter().chain([Key::Measured(origin)]);
                self.compared.chart.update(|comparison| keys.for_each(|key| comparison.add(key)));
            }
            None => self.compare(Preset::ALL[0]),
        }
    }

    /// Everything comparable so far.
    pub(crate) fn known(self) -> Sources {
        let kept =
            |kept: &KeptMeasurement| Some(Measured::new(kept.origin?, kept.name.clone(), kept.is_opened, &kept.report));
        let mut measured: Vec<_> = self.compared.kept.with(|all| all.iter().filter_map(kept).collect());
        measured.extend(self.results.run.with(|run| {
            let report = run.report()?;
            let name = self.compared.kept.with(|kept| distinct_name(KeptMeasurement::name_of(report), kept));
            Some(Measured::new(run.origin()?, name, run.is_opened(), report))
        }));
        Sources {
            index: self.choices.index.get().unwrap_or_default(),
            recorded: self.compared.recorded.get().unwrap_or_default(),
            published: self.compared.published.get(),
            atlas: self.compared.atlas.get().unwrap_or_default().models,
            measured,
        }
    }

    /// Shows a preset.
    pub(crate) fn compare(self, preset: Preset) {
        let keys = self.choices.index.with_untracked(|index| preset.keys(index.as_deref().unwrap_or_default()));
        self.compared.chart.update(|comparison| comparison.begin(preset, keys));
        if preset.is_of_paper() {
            self.load_published();
            self.add_own_of_paper();
        }
    }

    /// Adds measurements of the paper's models to a comparison of their published values.
    fn add_own_of_paper(self) {
        let known = untrack(|| self.known());
        let Some(published) = known.published else { return };
        let own = known.measured.iter().filter(|measured| published.has(&measured.summary.name));
        self.compared.chart.update(|comparison| own.for_each(|own| comparison.add(Key::Measured(own.origin))));
    }

    /// Corpora with published values of the model shown, the survey's first.
    pub(crate) fn published_corpora(self) -> Vec<String> {
        self.compared.published.with(|published| {
            published.as_ref().and_then(|published| Some(self.model_in(published)?.corpora())).unwrap_or_default()
        })
    }

    /// The published values of the model that was measured, or shown before measuring.
    fn model_in(self, published: &Published) -> Option<&PublishedModel> {
        match self.results.introduced.get() {
            Some(id) => published.models.iter().find(|model| model.hub_id == id),
            None => self.results.run.with(|run| published.of(run.report()?)),
        }
    }

    /// The overlay of the profile, ready to draw.
    pub(crate) fn overlay_shown(self) -> Option<Overlay> {
        match self.compared.overlay.get()? {
            Choice::Kept(at) => self.compared.kept.with(|kept| {
                let kept = kept.get(at)?;
                let sums = self.results.run.with(|run| sums(run.report()?, &kept.report));
                let note = [Some(fill(t().overlay_kept_note, &[("name", &kept.name)])), sums];
                let note = note.into_iter().flatten().collect::<Vec<_>>().join(" ");
                Some(Overlay {
                    name: kept.name.clone(),
                    values: self.compared.metric.get().by_block(&kept.report),
                    note,
                })
            }),
            Choice::Published(corpus) => {
                if self.compared.metric.get() != Metric::Scalar {
                    return None;
                }
                self.compared.published.with(|published| {
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
