//! What went wrong, and what the reader must know beside the numbers.

use leptos::prelude::*;
use straightedge_web::run::Phase;
use straightedge_web::texts::{fill, t};

use crate::session::Session;

/// The sentence of a failure, in place; results so far stay below it.
#[component]
pub(crate) fn Failure(session: Session) -> impl IntoView {
    let error = Memo::new(move |_| {
        let of_run = || {
            session.run.with(|run| match run.phase() {
                Phase::Failed(error) => Some(error.clone()),
                _ => None,
            })
        };
        session.complaint.get().or_else(of_run).map(|error| error.to_string())
    });
    view! {
        <div role="alert">
            {move || error.get().map(|text| {
                let (what, rest) = text.split_once(": ").unwrap_or(("", &text));
                view! { <p class="error" data-testid="error"><strong>{what.to_string()}": "</strong>{rest.to_string()}</p> }
            })}
        </div>
    }
}

/// The warnings of the report.
#[component]
pub(crate) fn Warnings(session: Session) -> impl IntoView {
    let warnings = Memo::new(move |_| session.run.with(|run| run.warnings().to_vec()));
    let items = move || {
        let lines = warnings.get().into_iter().map(|warning| {
            let block = warning.block.map(|block| fill(t().warning_block, &[("block", &block.to_string())]));
            view! { <li><strong>{block}</strong>{warning.text}</li> }
        });
        lines.collect_view()
    };
    view! {
        <Show when=move || warnings.with(|warnings| !warnings.is_empty())>
            <section class="warnings" data-testid="warnings">
                <h2>{t().warnings}</h2>
                <ul>{items}</ul>
            </section>
        </Show>
    }
}
