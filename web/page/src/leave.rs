//! Asks before the page is left while the engine computes: unsaved results would be lost.

use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::Event;

use crate::session::Session;

const LEAVING: &str = "beforeunload";

/// Registers the `beforeunload` listener only while the engine is busy: a permanent one slows down Back and Forward.
pub(crate) fn confirm_while_busy(session: Session) {
    let is_busy = Memo::new(move |_| session.is_busy());
    let asking = Rc::new(Closure::<dyn Fn(Event)>::new(|event: Event| event.prevent_default()));
    Effect::new(move |_| {
        let listener = (*asking).as_ref().unchecked_ref();
        // A window takes and drops any listener.
        let _ = match is_busy.get() {
            true => window().add_event_listener_with_callback(LEAVING, listener),
            false => window().remove_event_listener_with_callback(LEAVING, listener),
        };
    });
}
