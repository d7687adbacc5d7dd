//! The result that is shown: a measurement, a recording, a report, or published figures.

use leptos::prelude::*;
use straightedge_api::message::Order;
use straightedge_api::report::Report;
use straightedge_web::comparison::overlay::KeptMeasurement;
use straightedge_web::state::run::Run;
use straightedge_web::url::finding::Shared;
use web_sys::File;

use super::history::Current;

/// An order, and its file handles.
pub(in crate::session) type Ordered = (Order, Vec<File>);
/// A result that was replaced, the measurements kept before, and its entry in the store.
type Replaced = (Run, Vec<KeptMeasurement>, Option<Current>);

/// The result shown, and where it is from.
#[derive(Clone, Copy, Default)]
pub(crate) struct Results {
    /// The latest measurement.
    pub(crate) run: RwSignal<Run>,
    /// The hub model whose published values are shown before anything is measured.
    pub(crate) introduced: RwSignal<Option<String>>,
    /// The report that the measurement shown repeats.
    pub(crate) repeated: RwSignal<Option<Report>>,
    /// The result that a link shares, while it is shown or fetched.
    pub(crate) shared: RwSignal<Option<Shared>>,
    /// The address that a report is fetched from.
    pub(crate) fetching: RwSignal<Option<String>>,
    /// Whether the measurement shown can be extended because it was measured here.
    pub(crate) can_extend: RwSignal<bool>,
    /// Order and file handles of the measurement shown.
    pub(in crate::session) ordered: StoredValue<Option<Ordered>, LocalStorage>,
    /// The result that a repetition replaces, until the repetition has results.
    pub(in crate::session) replaced: StoredValue<Option<Replaced>, LocalStorage>,
}

impl Results {
    /// Numbers of the blocks that were measured.
    pub(crate) fn measured_blocks(self) -> Vec<usize> {
        self.run.with(|run| run.blocks().iter().map(|block| block.block).collect())
    }

    /// Sets the order of the measurement shown, by which it can be extended.
    pub(in crate::session) fn set_order(self, ordered: Option<Ordered>) {
        self.can_extend.set(ordered.is_some());
        self.ordered.set_value(ordered);
    }
}
