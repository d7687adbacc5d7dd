//! Errors, and warnings that belong with the numbers.

use leptos::prelude::*;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::{warnings, words};
use straightedge_web::text::t;

use crate::session::{Results, Session};

/// More warnings than this are folded.
const MANY: usize = 3;

/// The errors of a link, and the failure of a measurement; results so far stay below.
#[component]
pub(crate) fn Failure(session: Session) -> impl IntoView {
    let errors = Memo::new(move |_| {
        let of_run = || {
            session.results.run.with(|run| match run.phase() {
                Phase::Failed(error) => Some(error.clone()),
                _ => None,
            })
        };
        let refused = session.choices.refused.get();
        let all = refused.into_iter().chain(session.choices.complaint.get().or_else(of_run));
        all.map(|error| words::on_page(&error.sentence())).collect::<Vec<_>>()
    });
    let lines = move || errors.get().iter().map(|text| view! { <p>{stressed(text)}</p> }).collect_view();
    view! {
        <div role="alert">
            <Show when=move || errors.with(|errors| !errors.is_empty())>
                <div class="error" data-testid="error">{lines}</div>
            </Show>
        </div>
    }
}

/// The warnings of the report, folded if there are many.
#[component]
pub(crate) fn Warnings(results: Results) -> impl IntoView {
    let warnings = Memo::new(move |_| results.run.with(|run| warnings::sentences(run.warnings())));
    let count = Memo::new(move |_| warnings.with(Vec::len));
    let items = move || {
        let lines = warnings.get().into_iter().map(|text| view! { <li>{stressed(&text)}</li> });
        lines.collect_view()
    };
    view! {
        <Show when=move || count.get() != 0>
            <details class="warnings" data-testid="warnings" open=move || count.get() <= MANY>
                <summary><h2>{t().warnings}" ("{count}")"</h2></summary>
                <ul>{items}</ul>
            </details>
        </Show>
    }
}

/// A sentence of the form `WHAT: WHY` with its subject emphasised.
fn stressed(sentence: &str) -> impl IntoView + use<> {
    let (what, why) = sentence.split_once(": ").map_or((None, sentence), |(what, why)| (Some(what), why));
    let what = what.map(|what| view! { <strong>{what.to_string()}":"</strong>" " });
    view! { {what}{why.to_string()} }
}
