//! Calls to the browser that several files need.

use leptos::prelude::*;
use straightedge_api::date::written;
use straightedge_api::message::{ModelSource, Order, OrderInputs};

/// Key of the shown result in the session storage, which a reload keeps and a new tab lacks.
const SHOWN: &str = "straightedge shown";

/// Scrolls to the result if it is out of sight, as on a phone.
pub(super) fn scroll_to_results() {
    let results = document().query_selector(".results").ok().flatten();
    if let Some(results) = results {
        let (top, height) = (results.get_bounding_client_rect().top(), window().inner_height());
        let height = height.ok().and_then(|height| height.as_f64()).unwrap_or(f64::INFINITY);
        if !(0.0..height * 0.7).contains(&top) {
            results.scroll_into_view();
        }
    }
}

/// Tells the scripts outside the module, by an event of the window.
pub(super) fn announce(name: &str) {
    if let Ok(event) = web_sys::Event::new(name) {
        let _ = window().dispatch_event(&event);
    }
}

/// The current time as reports write it.
pub(crate) fn now() -> String {
    written(js_sys::Date::now() / 1000.0)
}

/// Requests persistent storage, so that the browser does not evict downloads; the storage report shows the outcome.
pub(super) fn request_persistence(order: &Order) {
    if matches!(order.work, OrderInputs::Model { model: ModelSource::Hub { .. }, .. }) {
        // The browser decides or asks its user; outside a secure context there is no storage.
        let _ = window().navigator().storage().persist();
    }
}

/// The kept result that was shown before a reload.
pub(super) fn shown_before_reload() -> Option<String> {
    window().session_storage().ok().flatten()?.get_item(SHOWN).ok().flatten()
}

/// Some frames deny storage; a reload then shows what the page begins with.
pub(super) fn show_after_reload(id: Option<&str>) {
    let Some(storage) = window().session_storage().ok().flatten() else { return };
    let _ = match id {
        Some(id) => storage.set_item(SHOWN, id),
        None => storage.remove_item(SHOWN),
    };
}
