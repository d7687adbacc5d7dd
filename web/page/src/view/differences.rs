//! The differences between a repeated measurement and the earlier one.

use leptos::prelude::*;
use straightedge_web::figures::differences::{Differences as Found, differences};
use straightedge_web::state::run::Run;
use straightedge_web::text::differences::t as words;

use super::figure::GridView;
use crate::session::Session;

/// Shown while the repeated measurement runs, and afterwards.
#[component]
pub(crate) fn Differences(session: Session) -> impl IntoView {
    let found = Memo::new(move |_| {
        session.results.repeated.with(|then| {
            session.results.run.with(|run| match (then, run.report()) {
                (Some(then), Some(now)) if !now.blocks.is_empty() => Some(differences(then, now)),
                _ => None,
            })
        })
    });
    let found = move || found.get().filter(|_| session.results.run.with(|run| !Run::is_untouched(run)));
    move || {
        found().map(|Found { sentences, table, most }| {
            let most = most.map(|most| most.to_string());
            let sentences = sentences.into_iter().map(|text| view! { <li>{text}</li> }).collect_view();
            view! {
                <section class="differences" data-testid="differences" data-most=most>
                    <h2>{words().heading}</h2>
                    <ul class="facts">{sentences}</ul>
                    <GridView session table/>
                </section>
            }
        })
    }
}
