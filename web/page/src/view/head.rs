//! The head of the page: its name and purpose.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use straightedge_web::lesson::{Step, minutes};
use straightedge_web::text::lesson::l;
use straightedge_web::text::{fill, t};

use crate::session::Session;

/// Name, mark, one sentence, and the link to the lesson.
#[component]
pub(crate) fn Head(session: Session) -> impl IntoView {
    // A link, so that it works before the page is ready and in a new window.
    let open = move |event: MouseEvent| {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key()) {
            event.prevent_default();
            session.go_to(Step::default());
        }
    };
    let is_closed = Memo::new(move |_| session.guide.step.with(Option::is_none));
    let name = fill(l().open, &[("minutes", &minutes().to_string())]);
    view! {
        <header class="head">
            <h1>
                <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
                    <path class="curve" d="M3 20.5C9 20.5 11.5 25.5 17 22S24.5 9.5 28.5 3.5"/>
                    <path class="edge" d="M3.5 28L28.5 9"/>
                </svg>
                {t().title}
            </h1>
            <p>{t().lead}</p>
            <Show when=move || is_closed.get()>
                <a class="button enter" href="?v=1&lesson=1" data-testid="lesson-open" on:click=open>{name.clone()}</a>
            </Show>
        </header>
    }
}
