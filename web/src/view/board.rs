//! The result: where the measurement stands, the views as tabs, and the one that is open.

use leptos::prelude::*;
use straightedge_web::views::View;

use super::panel::Panel;
use super::tabs::{Tabs, tab_id};
use super::{Chart, Status, Table};
use crate::session::Session;

/// Everything that comes of a measurement but its warnings.
#[component]
pub(crate) fn Board(session: Session) -> impl IntoView {
    let has_blocks = Memo::new(move |_| session.run.with(|run| !run.blocks().is_empty()));
    let is_profile = Memo::new(move |_| session.view.get() == View::Profile);
    let has_tabs = Memo::new(move |_| has_blocks.get() || !is_profile.get());
    let panel = move || match session.view.get() {
        View::Profile => view! { <Chart session/> }.into_any(),
        view => view! { <Panel session view/> }.into_any(),
    };
    // A panel without tabs is none.
    let role = move || has_tabs.get().then_some("tabpanel");
    let label = move || has_tabs.get().then(|| tab_id(session.view.get()));
    view! {
        <div class="figure">
            <Status session/>
            <Show when=move || has_tabs.get()><Tabs session/></Show>
            <div id="panel" class="panel" data-testid="panel" role=role aria-labelledby=label>{panel}</div>
        </div>
        <Show when=move || is_profile.get()><Table session/></Show>
    }
}
