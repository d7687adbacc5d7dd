//! The page as a whole: what is to be measured on one side, what comes of it on the other.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use straightedge_web::texts::t;

use crate::session::Session;
use crate::start::Start;
use crate::view::{
    Board, Device, Downloads, Drop, Failure, Go, Head, ModelChoice, ProtocolChoice, TextChoice, Warnings,
};

/// The page with its engine.
#[component]
pub(crate) fn App(start: Start) -> impl IntoView {
    let session = Session::new(start);
    session.connect();
    session.act_on_early_press();
    view! {
        <Page session/>
        <Drop session/>
    }
}

/// All that is seen.
#[component]
pub(crate) fn Page(session: Session) -> impl IntoView {
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        session.measure();
    };
    // As written beforehand nothing can be chosen yet.
    let inert = cfg!(not(target_arch = "wasm32"));
    view! {
        <Head/>
        <main class="bench">
            <form class="controls" aria-label=t().controls on:submit=submit inert=inert novalidate>
                <ModelChoice session/>
                <TextChoice session/>
                <ProtocolChoice session/>
                <Downloads session/>
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
