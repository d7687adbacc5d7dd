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

/// Parts that the page is built in, one at a time: each takes a phone a tenth of a second.
pub(crate) const PARTS: usize = 7;
/// All parts are built, and the page is in its place.
pub(crate) const IN_PLACE: usize = PARTS + 1;

/// The page with its engine; `parts` is the number of parts to build.
#[component]
pub(crate) fn App(start: Start, parts: RwSignal<usize>) -> impl IntoView {
    let session = Session::new(start);
    let is_embedded = session.display.frame.with_untracked(|frame| frame.is_embedded);
    title::follow(session);
    if is_embedded {
        return view! { <Embedded session/> }.into_any();
    }
    awake::keep(session);
    leave::confirm_while_busy(session);
    keep::follow(session.choices);
    Effect::new(move |_| {
        if parts.get() == IN_PLACE {
            // Compiling the engine would take the processor from building the page.
            session.connect();
            session.act_on_early_press();
        }
    });
    view! {
        <Page session parts/>
        <Drop session/>
        <Defined session/>
    }
    .into_any()
}

/// Everything visible.
#[component]
pub(crate) fn Page(session: Session, parts: RwSignal<usize>) -> impl IntoView {
    let has = move |part| move || parts.get() >= part;
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        session.measure_shown();
    };
    // The pre-rendered page cannot be used yet.
    let inert = cfg!(not(target_arch = "wasm32"));
    view! {
        <Show when=has(1)><Head session/></Show>
        <main class="bench">
            <Show when=has(1)><Lesson session/></Show>
            <form class="controls" aria-label=t().controls on:submit=submit novalidate>
                <div class="choices" inert=inert>
                    <Show when=has(2)><Framed display=session.display part=Part::Model><ModelChoice session/></Framed></Show>
                    <Show when=has(3)>
                        <Framed display=session.display part=Part::Text><TextChoice choices=session.choices/></Framed>
                        <Framed display=session.display part=Part::Protocol><ProtocolChoice session/></Framed>
                    </Show>
                    <Show when=has(4)>
                        <Framed display=session.display part=Part::Downloads><Downloads session/></Framed>
                        <Framed display=session.display part=Part::Downloads><History session/></Framed>
                        <ForClass session/>
                    </Show>
                </div>
                <Show when=has(4)>
                    <Go session/>
                    <Device engine=session.engine/>
                </Show>
            </form>
            <section class="results" aria-label=t().results>
                <Show when=has(5)>
                    <Failure session/>
                    <Board session panel=has(6) rest=has(7)/>
                </Show>
                <Show when=has(7)><Warnings results=session.results/></Show>
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
        let fragment = session.results.shared.with(|shared| match shared {
            Some(Shared::Fragment(fragment)) => fragment.clone(),
            _ => String::new(),
        });
        link(&address).unwrap_or_default() + &fragment
    };
    view! {
        <main class="embedded" data-testid="embedded">
            <Failure session/>
            <Board session panel=|| true rest=|| true/>
            <p class="note"><a href=target target="_blank" data-testid="link-back">{t().link_back}</a></p>
        </main>
        <Defined session/>
    }
}
