//! The whole page: choices on one side, results on the other.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use straightedge_web::state::frame::{Frame, Part};
use straightedge_web::text::t;
use straightedge_web::url::finding::Shared;

use crate::permalink::link;
use crate::session::Session;
use crate::start::Start;
use crate::view::{
    Board, Defined, Device, Downloads, Drop, Failure, ForClass, Framed, Go, Head, History, Lesson, ModelChoice,
    ProtocolChoice, TextChoice, Warnings,
};
use crate::{awake, keep, leave, title};

/// The page with its engine.
#[component]
pub(crate) fn App(start: Start) -> impl IntoView {
    let session = Session::new(start);
    let is_embedded = session.frame.with_untracked(|frame| frame.is_embedded);
    title::follow(session);
    if is_embedded {
        return view! { <Embedded session/> }.into_any();
    }
    session.connect();
    awake::keep(session);
    leave::ask(session);
    keep::follow(session);
    session.act_on_early_press();
    view! {
        <Page session/>
        <Drop session/>
        <Defined session/>
    }
    .into_any()
}

/// Everything visible.
#[component]
pub(crate) fn Page(session: Session) -> impl IntoView {
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        session.measure_shown();
    };
    // The pre-rendered page cannot be used yet.
    let inert = cfg!(not(target_arch = "wasm32"));
    view! {
        <Head session/>
        <main class="bench">
            <Lesson session/>
            <form class="controls" aria-label=t().controls on:submit=submit novalidate>
                <div class="choices" inert=inert>
                    <Framed session part=Part::Model><ModelChoice session/></Framed>
                    <Framed session part=Part::Text><TextChoice session/></Framed>
                    <Framed session part=Part::Protocol><ProtocolChoice session/></Framed>
                    <Framed session part=Part::Downloads><Downloads session/></Framed>
                    <Framed session part=Part::Downloads><History session/></Framed>
                    <ForClass session/>
                </div>
                <Go session/>
                <Device session/>
            </form>
            <section class="results" aria-label=t().results>
                <Failure session/>
                <Board session/>
                <Warnings session/>
            </section>
        </main>
    }
}

/// The result alone, for embedding in another page: without an engine, and with a link to the full page.
#[component]
fn Embedded(session: Session) -> impl IntoView {
    let target = move || {
        let mut address = session.address();
        address.frame = Frame::default();
        let fragment = session.shared.with(|shared| match shared {
            Some(Shared::Fragment(fragment)) => fragment.clone(),
            _ => String::new(),
        });
        link(&address).unwrap_or_default() + &fragment
    };
    view! {
        <main class="embedded" data-testid="embedded">
            <Failure session/>
            <Board session/>
            <p class="note"><a href=target target="_blank" data-testid="link-back">{t().link_back}</a></p>
        </main>
        <Defined session/>
    }
}
