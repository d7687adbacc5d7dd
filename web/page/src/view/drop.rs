//! Files dropped anywhere on the page.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::text::t;
use web_sys::DragEvent;

use crate::picked::{dropped, files_below};
use crate::session::Session;

/// An overlay shown while files hover over the page.
#[component]
pub(crate) fn Drop(session: Session) -> impl IntoView {
    let hovers = RwSignal::new(false);
    let over = window_event_listener(ev::dragover, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            hovers.set(true);
        }
    });
    let leave = window_event_listener(ev::dragleave, move |event| {
        // Only leaving the window has no related target.
        if event.related_target().is_none() {
            hovers.set(false);
        }
    });
    let drop = window_event_listener(ev::drop, move |event| {
        if !carries_files(&event) {
            return;
        }
        event.prevent_default();
        hovers.set(false);
        let (entries, mut picked) = event.data_transfer().map(|transfer| dropped(&transfer)).unwrap_or_default();
        spawn_local(async move {
            picked.extend(files_below(entries).await);
            if !picked.is_empty() {
                session.take(picked);
            }
        });
    });
    on_cleanup(move || [over, leave, drop].into_iter().for_each(|listener| listener.remove()));
    view! {
        <Show when=move || hovers.get()>
            <div class="drop" data-testid="drop"><p>{t().drop_here}</p></div>
        </Show>
    }
}

/// Dragged text or links are ignored.
fn carries_files(event: &DragEvent) -> bool {
    event.data_transfer().is_some_and(|transfer| transfer.types().includes(&"Files".into(), 0))
}
