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
    /// The measurement shown, by its first order, and its key in the store.
    pub(super) current: StoredValue<Option<(u32, String)>>,
    /// Whether a result is being written, and whether it has changed since.
    pub(super) writing: StoredValue<(bool, bool)>,
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
