//! Both distributions over the next token at the highlighted position.

use leptos::prelude::*;
use straightedge_web::continuation::{self, CandidateRow, ContinuationState};
use straightedge_web::text::continuation::t;
use straightedge_web::text::fill;
use straightedge_web::text::format::magnitude;

use super::spot::Spot;
use crate::session::Continued;

/// The token, the text before it, and each model's probabilities there; the latest token if none is highlighted.
#[component]
pub(super) fn Detail(continued: Continued, spot: RwSignal<Option<Spot>>) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let last = continued.state.with(|continuation| continuation.transcript().steps.len().checked_sub(1))?;
        let latest = Spot { step: last, is_linear: false };
        Some(spot.get().filter(|spot| spot.step <= last).unwrap_or(latest))
    });
    let content = move || shown.get().and_then(|spot| continued.state.with(|continuation| at(continuation, spot)));
    view! {
        <section class="at-token" data-testid="sides-detail" aria-label=t().column_token>
            {content}
            <p class="note">{t().detail_hint}</p>
        </section>
    }
}

fn at(continuation: &ContinuationState, spot: Spot) -> Option<impl IntoView + use<>> {
    let step = continuation.transcript().steps.get(spot.step)?;
    let is_own = spot.is_linear && !step.own.is_empty();
    let [number, after] = continuation::place(continuation, spot.step, is_own);
    let [kl, original, linear] =
        [step.kl, step.entropy.original, step.entropy.linear].map(|value| magnitude(Some(value)));
    let facts = fill(t().detail_kl, &[("kl", &kl), ("original", &original), ("linear", &linear)]);
    let lines = continuation::candidates(step, is_own).into_iter().map(move |line| row(line, is_own)).collect_view();
    Some(view! {
        <h3>{number}" "<span>{after}</span></h3>
        <p class="facts">{facts}</p>
        <table class="next" class:own=is_own>
            <thead><tr>
                <th scope="col">{t().column_token}</th>
                {(!is_own).then(|| view! { <th scope="col" class="of-original">{t().column_original}</th> })}
                <th scope="col" class="of-linear">{t().column_linear}</th>
            </tr></thead>
            <tbody>{lines}</tbody>
        </table>
    })
}

fn row(line: CandidateRow, is_own: bool) -> impl IntoView {
    let cell = |probability: Option<f64>, is_taken: bool, class: &'static str| {
        let probability = probability.unwrap_or(0.0);
        view! {
            <td class=class>
                <span class="bar" style=("--share", format!("{probability:.4}"))></span>
                <span class="percent">{continuation::percent(probability)}</span>
                {is_taken.then(|| view! { <span class="taken" title=t().taken aria-label=t().taken role="img">"◂"</span> })}
            </td>
        }
    };
    view! {
        <tr>
            <th scope="row">{line.token}</th>
            {(!is_own).then(|| cell(line.probability.original, line.is_taken.original, "of-original"))}
            {cell(line.probability.linear, line.is_taken.linear, "of-linear")}
        </tr>
    }
}
