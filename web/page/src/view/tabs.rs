//! The views in two levels of tabs: four groups, and the views of the open one. Arrow keys move within a level.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use straightedge_web::state::frame::Part;
use straightedge_web::state::groups::Group;
use straightedge_web::state::keys::next_tab;
use straightedge_web::state::views::View;
use straightedge_web::text::fill;
use straightedge_web::text::groups::t;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::session::Display;

/// Both lists of tabs, which label the panel below. They are the same whatever is measured.
#[component]
pub(crate) fn Tabs(display: Display) -> impl IntoView {
    let group = Memo::new(move |_| Group::of(display.view.get()));
    // A group opens on the view that was open in it last.
    let last = StoredValue::new(Group::ALL.map(|group| group.views()[0]));
    Effect::new(move |_| {
        let view = display.view.get();
        last.update_value(|last| last[place(Group::of(view))] = view);
    });
    let open = move |group: Group| {
        if Group::of(display.view.get_untracked()) != group {
            display.open_view(last.with_value(|last| last[place(group)]));
        }
    };
    let press = move |event: KeyboardEvent| {
        if let Some(group) = next_tab(&event.key(), Group::of(display.view.get_untracked()), &Group::ALL) {
            event.prevent_default();
            open(group);
            focus(&group_id(group));
        }
    };
    let tab = move |group_of_tab: Group| {
        let is_open = move || group.get() == group_of_tab;
        let id = group_id(group_of_tab);
        view! {
            <button
                type="button" role="tab" id=id.clone() data-testid=id aria-controls="panel"
                aria-selected=move || is_open().to_string() tabindex=move || if is_open() { "0" } else { "-1" }
                on:click=move |_| open(group_of_tab)
            >
                {group_of_tab.name()}
            </button>
        }
    };
    let has_several = Memo::new(move |_| group.get().views().len() > 1);
    view! {
        <div class="tabs groups" role="tablist" aria-label=t().groups on:keydown=press>
            {Group::ALL.map(tab)}
        </div>
        <Show when=move || has_several.get()><Views display group/></Show>
    }
}

/// The views of the open group.
#[component]
fn Views(display: Display, group: Memo<Group>) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let is_hidden = display.frame.with(|frame| frame.hidden.contains(&Part::Continuation));
        let is_shown = |view: &View| !(is_hidden && *view == View::Continuation);
        group.get().views().iter().copied().filter(is_shown).collect::<Vec<_>>()
    });
    let press = move |event: KeyboardEvent| {
        if let Some(view) = next_tab(&event.key(), display.view.get_untracked(), &shown.get_untracked()) {
            event.prevent_default();
            display.open_view(view);
            focus(&tab_id(view));
        }
    };
    let tab = move |view: View| {
        let is_open = move || display.view.get() == view;
        view! {
            <button
                type="button" role="tab" id=tab_id(view) data-testid=tab_id(view) aria-controls="panel"
                aria-selected=move || is_open().to_string() tabindex=move || if is_open() { "0" } else { "-1" }
                on:click=move |_| display.open_view(view)
            >
                {view.texts()[0]}
            </button>
        }
    };
    view! {
        <div
            class="tabs" role="tablist" aria-label=move || fill(t().views, &[("group", group.get().name())])
            on:keydown=press
        >
            <For each=move || shown.get() key=|view| *view children=tab/>
        </div>
    }
}

/// Identifier of a view's tab.
pub(crate) fn tab_id(view: View) -> String {
    format!("tab-{}", view.id())
}

/// Identifier of a group's tab, which is that of its view if it has only one.
fn group_id(group: Group) -> String {
    match group.views() {
        [view] => tab_id(*view),
        _ => format!("group-{}", group.id()),
    }
}

fn place(group: Group) -> usize {
    Group::ALL.iter().position(|other| *other == group).unwrap_or(0)
}

/// Moves the focus.
fn focus(id: &str) {
    let tab = document().get_element_by_id(id).and_then(|tab| tab.dyn_into::<HtmlElement>().ok());
    if let Some(tab) = tab {
        // Elements on the page can be focused.
        let _ = tab.focus();
    }
}
