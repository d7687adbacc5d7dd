//! Files dropped anywhere on the page.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::texts::t;

use crate::picked::{below, dropped};
use crate::session::Session;

/// A veil that says so while files hover over the page.
#[component]
pub(crate) fn Drop(session: Session) -> impl IntoView {
    let hovers = RwSignal::new(false);
    let over = window_event_listener(ev::dragover, move |event| {
        event.prevent_default();
        hovers.set(true);
    });
    let leave = window_event_listener(ev::dragleave, move |event| {
        // Only leaving the window has no element that is entered instead.
        if event.related_target().is_none() {
            hovers.set(false);
        }
    });
    let drop = window_event_listener(ev::drop, move |event| {
        event.prevent_default();
        hovers.set(false);
        let entries = event.data_transfer().map(|transfer| dropped(&transfer)).unwrap_or_default();
        if !entries.is_empty() {
            spawn_local(async move { session.take(below(entries).await) });
        }
    });
    on_cleanup(move || [over, leave, drop].into_iter().for_each(|listener| listener.remove()));
    view! {
        <Show when=move || hovers.get()>
            <div class="drop" data-testid="drop"><p>{t().drop_here}</p></div>
        </Show>
    }
}
