//! The page as a whole: what is to be measured on one side, what comes of it on the other.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use straightedge_web::texts::t;

use crate::session::Session;
use crate::view::{
    Board, Device, Downloads, Drop, Failure, Go, Head, ModelChoice, ProtocolChoice, TextChoice, Warnings,
};

/// The page.
#[component]
pub(crate) fn App() -> impl IntoView {
    let session = Session::open();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        session.measure();
    };
    view! {
        <Head/>
        <main class="bench">
            <form class="controls" aria-label=t().controls on:submit=submit novalidate>
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
        <Drop session/>
    }
}
