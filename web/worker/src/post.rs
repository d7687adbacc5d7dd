//! Replies to the page.

use straightedge_api::message::Reply;
use wasm_bindgen::prelude::*;
use web_sys::DedicatedWorkerGlobalScope;

/// Posts a reply.
pub(super) fn post(reply: &Reply) {
    let json = serde_json::to_string(reply).unwrap_or_else(|why| format!(r#"{{"crashed":["Engine",["{why}"]]}}"#));
    // Posting a string fails only when the page is closed.
    let _ = scope().post_message(&json.into());
}

/// This worker.
pub(super) fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}
