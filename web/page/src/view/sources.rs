//! Results known before anything is measured here, one shown at a time: recordings and published figures.

use leptos::prelude::*;
use straightedge_web::state::form::PUBLISHED;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::run::Run;
use straightedge_web::text::t;

use super::overlay::OpenReport;
use crate::session::Session;

/// The choice, until something is measured.
#[component]
pub(crate) fn Sources(session: Session) -> impl IntoView {
    let is_untouched = Memo::new(move |_| {
        session.results.run.with(Run::is_untouched) && session.display.frame.with(|frame| !frame.is_embedded)
    });
    view! {
        <Show when=move || is_untouched.get()>
            <div class="known-bar"><div class="known" role="group" aria-label=t().known data-testid="known">
                <div><span>{t().known_recorded}</span><Recorded session/></div>
                <div>
                    <span>{t().known_published}</span>
                    {PUBLISHED.map(|(id, name)| view! { <Published session id name/> }).collect_view()}
                </div>
            </div>
            <OpenReport session/></div>
        </Show>
    }
}

/// The recording of the chosen model, or of the first model.
#[component]
fn Recorded(session: Session) -> impl IntoView {
    let model = Memo::new(move |_| session.choices.recorded_model().unwrap_or_else(|| FIRST.into()));
    let name = move || model.with(|model| session.choices.title_of(model));
    let is_on = move || session.results.run.with(|run| run.report().is_some()).to_string();
    view! {
        <button
            type="button" aria-pressed=is_on data-testid="known-recorded"
            on:click=move |_| session.choose_bundled(&model.get_untracked())
        >
            {name}
        </button>
    }
}

#[component]
fn Published(session: Session, id: &'static str, name: &'static str) -> impl IntoView {
    let is_on = move || session.results.introduced.with(|introduced| introduced.as_deref() == Some(id)).to_string();
    view! {
        <button
            type="button" aria-pressed=is_on data-testid=format!("known-{id}")
            on:click=move |_| session.introduce(id)
        >
            {name}
        </button>
    }
}
