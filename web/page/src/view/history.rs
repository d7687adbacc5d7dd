//! The results kept in this browser: open, compare, rename, pin, delete, export.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::history::{KeptResult, MOST_BYTES};
use straightedge_web::state::run::Run;
use straightedge_web::text::fill;
use straightedge_web::text::format::bytes;
use straightedge_web::text::history::t as h;
use straightedge_web::text::sentences::translated;

use crate::save;
use crate::session::Session;

/// Results listed before the rest is asked for.
const LISTED: usize = 20;

/// The fold with the list.
#[component]
pub(crate) fn History(session: Session) -> impl IntoView {
    let summary = move || match session.history.refused.get() {
        Some(why) => fill(h().refused, &[("why", &translated(&why))]),
        None if with(session, <[_]>::is_empty) => h().none.into(),
        None => with(session, |entries| {
            let (count, size) = (entries.len().to_string(), entries.iter().map(|entry| entry.bytes).sum());
            fill(h().sum, &[("count", &count), ("size", &bytes(size)), ("most", &bytes(MOST_BYTES))])
        }),
    };
    let export = move |_| {
        spawn_local(async move {
            if let Some(file) = session.history.export().await {
                // A browser that cannot create a blob or its URL cannot download at all.
                let _ = save::text("straightedge-results.json", "application/json", &file);
            }
        });
    };
    // There may be many results: a closed fold lists none, an open one the first ones.
    let (is_open, is_whole) = (RwSignal::new(false), RwSignal::new(false));
    let toggle = move |event| {
        is_open.set(event_target::<web_sys::Element>(&event).has_attribute("open"));
        is_whole.set(false);
    };
    let listed = move || {
        let most = if is_whole.get() { usize::MAX } else { LISTED };
        with(session, |entries| entries.iter().take(most).cloned().collect::<Vec<_>>())
    };
    let has_more =
        Memo::new(move |_| is_open.get() && !is_whole.get() && with(session, |entries| entries.len() > LISTED));
    let all = move || with(session, |entries| fill(h().all, &[("count", &entries.len().to_string())]));
    view! {
        <details class="fold" data-testid="history" on:toggle=toggle>
            <summary><span class="title">{h().title}</span><span class="note" data-testid="history-sum">{summary}</span></summary>
            <div class="kept">
                <ul data-testid="history-list">
                    <Show when=move || is_open.get()>
                        <For each=listed key=|entry| (entry.id.clone(), entry.described(), entry.is_pinned, entry.name.clone()) children=move |entry| view! { <Item session entry/> }/>
                    </Show>
                </ul>
                <Show when=move || has_more.get()>
                    <button type="button" data-testid="history-all" on:click=move |_| is_whole.set(true)>{all}</button>
                </Show>
                <Show when=move || with(session, |entries| !entries.is_empty())>
                    <button type="button" data-testid="history-export" on:click=export>{h().export}</button>
                </Show>
            </div>
        </details>
    }
}

/// Reads the list without copying it: it is as long as its owner measured.
fn with<R>(session: Session, read: impl FnOnce(&[KeptResult]) -> R) -> R {
    session.history.entries.with(|entries| read(entries.as_deref().unwrap_or_default()))
}

#[component]
fn Item(session: Session, entry: KeptResult) -> impl IntoView {
    let is_running = Memo::new(move |_| session.results.run.with(Run::is_running));
    let about = entry.described();
    let name = entry.shown().to_string();
    let named = |text: &str| fill(text, &[("name", &name)]);
    let [open, compare, rename, pin, delete] =
        [h().open_name, h().compare_name, h().rename, h().pin_name, h().delete_name].map(named);
    let id = StoredValue::new(entry.id);
    // Enter in a field of a form would start a measurement.
    let press = |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            if let Some(field) = document().active_element() {
                let _ = wasm_bindgen::JsCast::unchecked_into::<web_sys::HtmlElement>(field).blur();
            }
        }
    };
    let change = move |event| {
        let name = event_target_value(&event);
        session.history.change(id.get_value(), move |entry| entry.rename(&name));
    };
    let toggle = move |_| session.history.change(id.get_value(), |entry| entry.is_pinned = !entry.is_pinned);
    view! {
        <li>
            <input type="text" aria-label=rename prop:value=name.clone() data-testid="kept-name" on:keydown=press on:change=change/>
            <p class="note" data-testid="kept-about">{about}</p>
            <div class="row">
                <button type="button" aria-label=open data-testid="kept-open" disabled=move || is_running.get()
                    on:click=move |_| session.open_kept(id.get_value(), false)>{h().open}</button>
                <button type="button" aria-label=compare data-testid="kept-compare"
                    on:click=move |_| session.compare_kept(id.get_value())>{h().compare}</button>
                <button type="button" aria-label=pin data-testid="kept-pin" aria-pressed=entry.is_pinned.to_string()
                    on:click=toggle>{h().pin}</button>
                <button type="button" aria-label=delete data-testid="kept-delete"
                    on:click=move |_| session.history.delete(id.get_value())>{h().delete}</button>
            </div>
        </li>
    }
}
