//! The result: the views as tabs, status of the measurement, and the open view.

use leptos::prelude::*;
use straightedge_web::state::frame::Frame;
use straightedge_web::state::views::View;

use super::chart::Chart;
use super::compare::Compare;
use super::continuation::ContinuationState;
use super::detail::Detail;
use super::differences::Differences;
use super::panel::Panel;
use super::share::Share;
use super::status::Status;
use super::table::Table;
use super::tabs::{Tabs, tab_id};
use crate::session::Session;

/// Everything about a measurement except its warnings: first the tabs, then also the `panel` with the open view, then also
/// the `rest`.
#[component]
pub(crate) fn Board(
    session: Session,
    panel: impl Fn() -> bool + Copy + Send + Sync + 'static,
    rest: impl Fn() -> bool + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let is_profile = Memo::new(move |_| session.display.view.get() == View::Profile);
    let is_embedded = Memo::new(move |_| session.display.frame.with(|frame| frame.is_embedded));
    let has_tabs = Memo::new(move |_| session.display.frame.with(Frame::has_views));
    let view = move || match session.display.view.get() {
        View::Profile => view! { <Chart session/> }.into_any(),
        View::Block => view! { <Detail session/> }.into_any(),
        View::Compare => view! { <Compare session/> }.into_any(),
        View::Continuation => view! { <ContinuationState session/> }.into_any(),
        view => view! { <Panel session view/> }.into_any(),
    };
    // Without tabs the panel is no tabpanel.
    let role = move || has_tabs.get().then_some("tabpanel");
    let label = move || has_tabs.get().then(|| tab_id(session.display.view.get()));
    view! {
        <div class="figure">
            // The tabs come first, so that no sentence about a result moves them.
            <Show when=move || has_tabs.get()><Tabs display=session.display/></Show>
            <Status session/>
            <div id="panel" class="panel" data-testid="panel" role=role aria-labelledby=label>
                <Show when=panel>{view}</Show>
            </div>
            <Show when=rest><Share session/></Show>
        </div>
        <Show when=rest><Differences session/></Show>
        <Show when=move || rest() && is_profile.get() && !is_embedded.get()><Table session/></Show>
    }
}
