//! The views as tabs: one open at a time, arrow keys move between tabs.

use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;
use straightedge_web::state::frame::Part;
use straightedge_web::state::views::View;
use straightedge_web::text::t;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::session::Session;

/// The list of tabs, which labels the panel below. Before anything is measured there are only the tabs of views that
/// still show something.
#[component]
pub(crate) fn Tabs(session: Session) -> impl IntoView {
    let has_blocks = Memo::new(move |_| session.run.with(|run| !run.blocks().is_empty()));
    let shown = Memo::new(move |_| {
        let is_all = has_blocks.get() || !session.view.get().is_always_there();
        let is_hidden = session.frame.with(|frame| frame.hidden.contains(&Part::Continuation));
        let is_shown = |view: &View| (is_all || view.is_always_there()) && !(is_hidden && *view == View::Continuation);
        View::ALL.into_iter().filter(is_shown).collect::<Vec<_>>()
    });
    let press = move |event: KeyboardEvent| {
        if let Some(view) = step(&event.key(), session.view.get_untracked(), &shown.get_untracked()) {
            event.prevent_default();
            session.open_view(view);
            focus(view);
        }
    };
    let tab = move |view: View| {
        let is_open = move || session.view.get() == view;
        view! {
            <button
                type="button" role="tab" id=tab_id(view) data-testid=tab_id(view) aria-controls="panel"
                aria-selected=move || is_open().to_string() tabindex=move || if is_open() { "0" } else { "-1" }
                on:click=move |_| session.open_view(view)
            >
                {view.texts()[0]}
            </button>
        }
    };
    let list = NodeRef::<Div>::new();
    // A link may open a tab that is out of sight.
    Effect::new(move |_| {
        shown.track();
        let view = session.view.get();
        if let Some(list) = list.get() {
            request_animation_frame(move || reveal(&list, view));
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label=t().views node_ref=list on:keydown=press>
            <For each=move || shown.get() key=|view| *view children=tab/>
        </div>
    }
}

/// Identifier of a view's tab.
pub(crate) fn tab_id(view: View) -> String {
    format!("tab-{}", view.id())
}

fn tab(view: View) -> Option<HtmlElement> {
    document().get_element_by_id(&tab_id(view))?.dyn_into().ok()
}

/// Scrolls a tab to the middle of its list if they do not all fit.
fn reveal(list: &HtmlElement, view: View) {
    if let Some(tab) = tab(view) {
        let place = tab.offset_left() - list.offset_left();
        list.set_scroll_left(place - (list.client_width() - tab.offset_width()) / 2);
    }
}

/// Moves the focus.
fn focus(view: View) {
    if let Some(tab) = tab(view) {
        // Elements on the page can be focused.
        let _ = tab.focus();
    }
}

/// The view a key moves to within `all`.
fn step(key: &str, from: View, all: &[View]) -> Option<View> {
    let at = all.iter().position(|view| *view == from)?;
    let to = match key {
        "ArrowRight" => (at + 1) % all.len(),
        "ArrowLeft" => (at + all.len() - 1) % all.len(),
        "Home" => 0,
        "End" => all.len() - 1,
        _ => return None,
    };
    Some(all[to])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_round_the_tabs() {
        let all = &View::ALL;
        assert_eq!(step("ArrowRight", View::Profile, all), Some(View::Block));
        assert_eq!(step("ArrowLeft", View::Profile, all), Some(View::Healing));
        assert_eq!(step("ArrowRight", View::Block, &all[..2]), Some(View::Profile));
        assert_eq!(step("End", View::Losses, all), Some(View::Healing));
        assert_eq!(step("Enter", View::Losses, all), None);
    }
}
