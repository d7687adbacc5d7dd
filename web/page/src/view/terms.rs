//! Terms of the glossary in headings and table heads: a pointer, the keyboard and a finger show what each means.

use leptos::ev::KeyboardEvent;
use leptos::html::Button;
use leptos::prelude::*;
use straightedge_web::text::glossary::{Piece, pieces};

use super::typeset::typeset_owned;
use crate::session::{Definition, Session};

/// Space between a definition and its term, and the edge of the window.
const GAP: f64 = 6.0;
/// The widest definition.
const WIDTH: f64 = 320.0;

/// A text in which the first place of every term tells what it means.
pub(super) fn explained(session: Session, text: &str) -> impl IntoView + use<> {
    let piece = |piece| match piece {
        Piece::Plain(text) => typeset_owned(text).into_any(),
        Piece::Term(name, meaning) => view! { <Term session name meaning/> }.into_any(),
    };
    pieces(text).into_iter().map(piece).collect_view()
}

/// A term: hovering shows its meaning as a title, which is also its accessible description; focus, a click and a touch
/// show it next to the term, until the term loses the focus or Escape is pressed.
#[component]
pub(super) fn Term(session: Session, name: String, meaning: String) -> impl IntoView {
    let place = NodeRef::<Button>::new();
    let text = meaning.clone();
    let show = move || {
        let Some(term) = place.get_untracked() else { return };
        let (at, window) = (term.get_bounding_client_rect(), window());
        let width = window.inner_width().ok().and_then(|width| width.as_f64()).unwrap_or(f64::INFINITY);
        let scrolled = [window.scroll_x(), window.scroll_y()].map(Result::unwrap_or_default);
        let left = at.left().min(width - WIDTH - GAP).max(GAP) + scrolled[0];
        let top = at.bottom() + GAP + scrolled[1];
        session.display.defined.set(Some(Definition { text: text.clone(), left, top }));
    };
    let show_again = show.clone();
    let hide = move || session.display.defined.set(None);
    let press = move |event: KeyboardEvent| {
        if event.key() == "Escape" {
            hide();
        }
    };
    view! {
        <button
            type="button" class="term" title=meaning node_ref=place
            on:focus=move |_| show() on:click=move |_| show_again() on:blur=move |_| hide() on:keydown=press
        >
            {typeset_owned(name)}
        </button>
    }
}

/// The definition of the term that has the focus.
#[component]
pub(crate) fn Defined(session: Session) -> impl IntoView {
    move || {
        session.display.defined.get().map(|Definition { text, left, top }| {
            view! {
                // The term's own description says the same to screen readers.
                <p
                    class="definition" data-testid="definition" aria-hidden="true"
                    style:left=format!("{left}px") style:top=format!("{top}px")
                >
                    {text}
                </p>
            }
        })
    }
}
