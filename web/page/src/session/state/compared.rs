//! What the result is compared with: other measurements in one chart, and an overlay of the profile.

use std::collections::BTreeSet;

use leptos::prelude::*;
use straightedge_api::atlas::{AtlasEntry, Index};
use straightedge_api::job::Measure;
use straightedge_api::summary::Summary;
use straightedge_web::comparison::atlas::keys;
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement, Metric};
use straightedge_web::comparison::published::Published;
use straightedge_web::comparison::{Comparison, Key};

/// More kept measurements than any comparison needs.
const MOST_KEPT: usize = 20;

/// The comparison, and what can be compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Compared {
    /// The comparison in one chart.
    pub(crate) chart: RwSignal<Comparison>,
    /// Which R² the profile shows.
    pub(crate) metric: RwSignal<Metric>,
    /// The overlay of the profile.
    pub(crate) overlay: RwSignal<Option<Choice>>,
    /// Earlier measurements and opened reports.
    pub(crate) kept: RwSignal<Vec<KeptMeasurement>>,
    /// Recordings of the bundled models, loaded for the first comparison.
    pub(crate) recorded: RwSignal<Option<Vec<Summary>>>,
    /// Models measured with this build, loaded for the first comparison.
    pub(crate) atlas: RwSignal<Option<Index>>,
    /// Published values, once loaded.
    pub(crate) published: RwSignal<Option<Published>>,
}

impl Compared {
    /// Adds a key, with a chart that it has numbers for.
    pub(crate) fn add(self, key: Key) {
        self.chart.update(|comparison| {
            comparison.show_quantity(key.main_quantity());
            comparison.add(key);
        });
    }

    /// Adds an atlas entry with the published values it was checked against.
    pub(crate) fn add_atlas(self, entry: &AtlasEntry) {
        keys(entry).into_iter().for_each(|key| self.add(key));
    }

    /// Measures needed by the charts shown, to measure a key.
    pub(in crate::session) fn measures_for(self, key: &Key) -> BTreeSet<Measure> {
        let control = matches!(key, Key::Control(..)).then_some(Measure::Controls);
        let shown = self.chart.with_untracked(|comparison| comparison.quantities());
        let charts = shown.iter().filter_map(|field| field.line().chart);
        [Measure::Fit].into_iter().chain(control).chain(charts.map(|chart| chart.measure)).collect()
    }

    /// Keeps a measurement; the first one makes room where there are too many.
    pub(in crate::session) fn keep(self, new: KeptMeasurement) {
        self.kept.update(|kept| kept.push(new.with_distinct_name(kept)));
        if self.kept.with_untracked(Vec::len) > MOST_KEPT {
            self.kept.update(|kept| drop(kept.remove(0)));
            self.overlay.update(|overlay| *overlay = overlay.take().and_then(Choice::after_first_removed));
        }
    }

    /// The measurement kept last, as an overlay.
    pub(in crate::session) fn last_kept(self) -> Option<Choice> {
        self.kept.with_untracked(|kept| kept.len().checked_sub(1).map(Choice::Kept))
    }

    /// Sets the overlay of the profile; published values are scalar R².
    pub(crate) fn lay_over(self, choice: Option<Choice>) {
        if matches!(choice, Some(Choice::Published(_))) {
            self.metric.set(Metric::Scalar);
        }
        self.overlay.set(choice);
    }
}
