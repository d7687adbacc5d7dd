//! State of the results kept in the browser.

use leptos::prelude::*;
use straightedge_web::history::KeptResult;
use web_sys::BroadcastChannel;

use crate::store::Store;

/// State of the kept results. Copies are handles to the same state.
#[derive(Clone, Copy)]
pub(crate) struct History {
    /// The list, the latest first; `None` until it is read.
    pub(crate) entries: RwSignal<Option<Vec<KeptResult>>>,
    /// Why nothing can be kept.
    pub(crate) refused: RwSignal<Option<String>>,
    /// The open database.
    pub(super) store: RwSignal<Option<Store>, LocalStorage>,
    pub(super) channel: StoredValue<Option<BroadcastChannel>, LocalStorage>,
    /// The entry of the measurement shown.
    pub(super) current: StoredValue<Option<Current>>,
    /// Whether a result is being written, and whether it has changed since.
    pub(super) writing: StoredValue<(bool, bool)>,
}

/// The entry in the store of the measurement shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Current {
    /// Number of its first order.
    pub(super) origin: u32,
    /// Its key.
    pub(super) id: String,
    /// When this tab last read or wrote it; `None` if it did neither.
    pub(super) saved: Option<String>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            entries: RwSignal::new(None),
            refused: RwSignal::new(None),
            store: RwSignal::new_local(None),
            channel: StoredValue::new_local(None),
            current: StoredValue::new(None),
            writing: StoredValue::new((false, false)),
        }
    }
}
