//! The head of the page: its name and purpose, its languages, and the link to the lesson.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use straightedge_web::lesson::{Step, minutes};
use straightedge_web::text::language::{Language, language};
use straightedge_web::text::lesson::l;
use straightedge_web::text::{fill, t};
use straightedge_web::url::address::Address;
use straightedge_web::url::finding::Shared;

use crate::permalink::link;
use crate::session::Session;

/// Name, mark, one sentence, and the link to the lesson.
#[component]
pub(crate) fn Head(session: Session) -> impl IntoView {
    // A link, so that it works before the page is ready and in a new window.
    let open = move |event: MouseEvent| {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key()) {
            event.prevent_default();
            session.guide.go_to(Step::default());
        }
    };
    let is_closed = Memo::new(move |_| session.guide.step.with(Option::is_none));
    let in_language =
        session.display.requested_language.map_or(String::new(), |language| format!("&lang={}", language.id()));
    let lesson = format!("?v=1&lesson=1{in_language}");
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
            <Languages session/>
            <Show when=move || is_closed.get()>
                <a class="button enter" href=lesson.clone() data-testid="lesson-open" on:click=open>{name.clone()}</a>
            </Show>
        </header>
    }
}

/// The languages: the one in use, and links to the same page in the others.
#[component]
fn Languages(session: Session) -> impl IntoView {
    let item = move |other: Language| {
        let (id, name) = (other.id(), other.name());
        if other == language() {
            return view! { <li><span aria-current="true" lang=id>{name}</span></li> }.into_any();
        }
        let test = format!("language-{id}");
        let href = move || page_in(session, other);
        view! { <li><a href=href lang=id hreflang=id data-testid=test>{name}</a></li> }.into_any()
    };
    view! {
        <nav class="languages" aria-label=t().languages data-testid="languages">
            <ul>{Language::ALL.map(item).collect_view()}</ul>
        </nav>
    }
}

/// The link to the present page in another language, with the result that it shares.
fn page_in(session: Session, language: Language) -> String {
    let plain = format!("?lang={}", language.id());
    // What is pre-rendered has no address.
    if cfg!(not(target_arch = "wasm32")) {
        return plain;
    }
    let address = Address { language: Some(language), ..session.address() };
    let fragment = session.results.shared.with(|shared| match shared {
        Some(Shared::Fragment(fragment)) => fragment.clone(),
        _ => String::new(),
    });
    link(&address).map_or(plain, |link| link + &fragment)
}
