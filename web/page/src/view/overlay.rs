//! Choice of the profile's R² and overlay.

use leptos::prelude::*;
use straightedge_web::comparison::overlay::{Choice, Metric, agreement};
use straightedge_web::text::engine;
use straightedge_web::text::{fill, t};

use super::model::on_pick;
use super::typeset::{typeset, typeset_owned};
use crate::session::Session;

/// Option values: positions of kept measurements, and corpora with this prefix, which no position has.
const PUBLISHED: &str = "published:";

/// The two choices, and the agreement of the two profiles.
#[component]
pub(crate) fn OverlayChoice(session: Session) -> impl IntoView {
    let is_there = Memo::new(move |_| session.results.run.with(|run| !run.is_untouched() && !run.blocks().is_empty()));
    let change = move |event| {
        let value = event_target_value(&event);
        session.compared.lay_over(match value.strip_prefix(PUBLISHED) {
            Some(corpus) => Some(Choice::Published(corpus.into())),
            None => value.parse().ok().map(Choice::Kept),
        });
    };
    view! {
        <Show when=move || is_there.get()>
            <div class="overlay-bar">
                <MetricChoice session/>
                <label class="pick">
                    {t().overlay}
                    <select data-testid="overlay-select" on:change=change>
                        <option value="" selected=move || session.compared.overlay.with(Option::is_none)>{t().overlay_none}</option>
                        <Options session/>
                    </select>
                </label>
                <OpenReport session/>
            </div>
        </Show>
    }
}

#[component]
fn MetricChoice(session: Session) -> impl IntoView {
    let button = move |metric: Metric| {
        let is_on = move || (session.compared.metric.get() == metric).to_string();
        view! {
            <button type="button" aria-pressed=is_on on:click=move |_| session.compared.metric.set(metric)>{typeset(engine::label(metric.field()))}</button>
        }
    };
    view! {
        <div class="segments" role="group" aria-label=t().overlay_metric data-testid="metric">
            {Metric::ALL.map(button).into_iter().collect_view()}
        </div>
    }
}

#[component]
fn Options(session: Session) -> impl IntoView {
    let chosen = move |choice: Choice| session.compared.overlay.with(|overlay| *overlay == Some(choice.clone()));
    let published = move || {
        let corpora = session.published_corpora().into_iter().map(|corpus| {
            let name = fill(t().overlay_published, &[("corpus", &corpus)]);
            let choice = Choice::Published(corpus.clone());
            view! { <option value=format!("{PUBLISHED}{corpus}") selected=move || chosen(choice.clone())>{name}</option> }
        });
        corpora.collect_view()
    };
    let kept = move || {
        let kept = session.compared.kept.get().into_iter().enumerate();
        let option = kept.map(|(at, kept)| {
            view! { <option value=at selected=move || chosen(Choice::Kept(at))>{kept.name}</option> }
        });
        option.collect_view()
    };
    view! { {published}{kept} }
}

/// Opens a report from disk.
#[component]
pub(crate) fn OpenReport(session: Session) -> impl IntoView {
    let take = on_pick(move |picked| picked.into_iter().for_each(|picked| session.open_report(picked.file)));
    view! {
        <label class="button">
            <input type="file" class="unseen" data-testid="report-file" accept=".json,application/json" on:change=take/>
            {t().open_report}
        </label>
    }
}

/// Description of the overlay, and its agreement with the measurement.
#[component]
pub(crate) fn OverlayNote(session: Session) -> impl IntoView {
    let comparison_text = Memo::new(move |_| {
        let overlay = session.overlay_shown()?;
        let metric = session.compared.metric.get();
        let ours =
            session.results.run.with(|run| run.report().map(|report| metric.by_block(report)).unwrap_or_default());
        Some((agreement(&ours, &overlay.values), overlay.note))
    });
    view! {
        {move || comparison_text.get().map(|(agreement, note)| view! {
            <ul class="facts" data-testid="agreement">{agreement.map(|text| view! { <li>{text}</li> })}</ul>
            <p class="note" data-testid="overlay-note">{typeset_owned(note)}</p>
        })}
    }
}
