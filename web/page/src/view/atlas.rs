//! Models measured when this copy of the page was built: listed, compared, opened, and reasons for failures.

use leptos::prelude::*;
use straightedge_api::atlas::{AtlasEntry, Measured};
use straightedge_web::comparison::Key;
use straightedge_web::comparison::atlas::{origin, outcome};
use straightedge_web::state::run::Run;
use straightedge_web::text::{fill, t};

use super::typeset::typeset_owned;
use crate::session::Session;

/// The list; empty if no model was measured with this build.
#[component]
pub(crate) fn Atlas(session: Session) -> impl IntoView {
    let entries = move || session.compared.atlas.get().unwrap_or_default().models;
    let is_there =
        Memo::new(move |_| session.compared.atlas.with(|atlas| atlas.iter().any(|index| !index.models.is_empty())));
    view! {
        <Show when=move || is_there.get()>
            <section class="atlas" aria-labelledby="atlas-name">
                <h3 id="atlas-name">{t().atlas}</h3>
                <p class="note">{t().atlas_about}</p>
                <ul data-testid="atlas">
                    {move || entries().into_iter().map(|entry| view! { <Item session entry/> }).collect_view()}
                </ul>
            </section>
        </Show>
    }
}

#[component]
fn Item(session: Session, entry: AtlasEntry) -> impl IntoView {
    let origin = origin(&entry, entry.measured.as_ref().and_then(day).as_deref());
    let outcome = outcome(&entry).map(|text| view! { <p class="outcome">{typeset_owned(text)}</p> });
    let buttons = entry.measured.is_some().then(|| view! { <Buttons session entry=entry.clone()/> });
    view! {
        <li data-testid=format!("atlas-{}", entry.slug)>
            <p><strong>{entry.title.clone()}</strong>" "<span class="source">{origin}</span></p>
            {outcome}
            {buttons}
        </li>
    }
}

#[component]
fn Buttons(session: Session, entry: AtlasEntry) -> impl IntoView {
    let label = |text: &'static str| fill(text, &[("name", &entry.title)]);
    let (add_name, open_name) = (label(t().atlas_add_name), label(t().atlas_open_name));
    let key = Key::Atlas(entry.slug.clone());
    let is_compared = Memo::new(move |_| session.compared.chart.with(|comparison| comparison.entry(&key).is_some()));
    let entry = StoredValue::new(entry);
    view! {
        <div class="chips">
            <button
                type="button" class="small" data-testid="atlas-add" aria-label=add_name
                disabled=move || is_compared.get()
                on:click=move |_| entry.with_value(|entry| session.compared.add_atlas(entry))
            >
                {t().atlas_add}
            </button>
            <button
                type="button" class="small" data-testid="atlas-open" aria-label=open_name
                disabled=move || session.results.run.with(Run::is_running)
                on:click=move |_| entry.with_value(|entry| entry.measured.iter().for_each(|it| session.open_atlas(it)))
            >
                {t().atlas_open}
            </button>
        </div>
    }
}

/// The UTC day on which a measurement ended; `None` for an invalid timestamp.
fn day(measured: &Measured) -> Option<String> {
    let date = js_sys::Date::new(&(measured.ended as f64 * 1000.0).into());
    (!date.get_time().is_nan()).then(|| String::from(date.to_iso_string()).chars().take(10).collect())
}
