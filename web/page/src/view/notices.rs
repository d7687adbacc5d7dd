//! Errors, and warnings that belong with the numbers.

use leptos::prelude::*;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::words;
use straightedge_web::text::t;

use crate::session::Session;

/// More warnings than this are folded.
const MANY: usize = 3;

/// The sentence of an error; results so far stay below it.
#[component]
pub(crate) fn Failure(session: Session) -> impl IntoView {
    let error = Memo::new(move |_| {
        let of_run = || {
            session.run.with(|run| match run.phase() {
                Phase::Failed(error) => Some(error.clone()),
                _ => None,
            })
        };
        session.complaint.get().or_else(of_run).map(|error| words::on_page(&error.to_string()))
    });
    view! {
        <div role="alert">
            {move || error.get().map(|text| view! { <p class="error" data-testid="error">{stressed(&text)}</p> })}
        </div>
    }
}

/// The warnings of the report, folded if there are many.
#[component]
pub(crate) fn Warnings(session: Session) -> impl IntoView {
    let warnings = Memo::new(move |_| session.run.with(|run| run.warnings().to_vec()));
    let count = Memo::new(move |_| warnings.with(Vec::len));
    let items = move || {
        let lines =
            warnings.get().into_iter().map(|warning| view! { <li>{stressed(&words::on_page(&warning.text))}</li> });
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
