//! The start and cancel buttons, and the device that measurements run on.

use std::collections::BTreeSet;

use leptos::prelude::*;
use straightedge_api::job::Measure;
use straightedge_api::message::AvailableDevice;
use straightedge_web::state::form::PUBLISHED;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::question;
use straightedge_web::state::words;
use straightedge_web::text::groups::t as g;
use straightedge_web::text::{fill, t};

use crate::session::{Engine, Session};

/// What a measurement would answer and how long it takes, and the one button that orders it: Measure, or Cancel while
/// it runs.
#[component]
pub(crate) fn Go(session: Session) -> impl IntoView {
    let is_running = Memo::new(move |_| session.results.run.with(Run::is_running));
    let is_untouched = Memo::new(move |_| session.results.run.with(Run::is_untouched));
    let name = move || match session.results.introduced.get() {
        Some(id) => fill(g().measure_published, &[("model", &published_name(&id))]),
        None if is_untouched.get() => t().measure.into(),
        None => t().measure_again.into(),
    };
    let is_second = move || session.calls_elsewhere();
    view! {
        <Plan session/>
        <div class="go">
            <Show
                when=move || is_running.get()
                fallback=move || view! {
                    <button type="submit" class="main" class:second=is_second data-testid="run">{name}</button>
                }
            >
                <button type="button" class="stop" data-testid="cancel" on:click=move |_| session.cancel()>
                    {t().cancel}
                </button>
            </Show>
        </div>
    }
}

/// The questions that the chosen measures answer, and the time they take.
#[component]
fn Plan(session: Session) -> impl IntoView {
    let questions = Memo::new(move |_| {
        let more = session.choices.form.with(|form| form.measures.clone());
        let all =
            BTreeSet::from([Measure::Fit]).into_iter().chain(more.into_iter().filter(|more| *more != Measure::Fit));
        all.map(question).collect::<Vec<_>>().join(" ")
    });
    let cost = Memo::new(move |_| session.cost());
    view! {
        <p class="note plan" data-testid="plan">
            {questions}
            {move || cost.get().map(|text| view! { " "<span data-testid="cost">{text}</span> })}
        </p>
    }
}

/// Display name of a model with published values.
fn published_name(id: &str) -> String {
    PUBLISHED.iter().find(|(known, _)| *known == id).map_or(id, |(_, name)| name).into()
}

/// Adapter and limits, or that there is none.
#[component]
pub(crate) fn Device(engine: Engine) -> impl IntoView {
    let state = move || {
        engine.device.with(|device| match device {
            None => "probing",
            Some(Err(_)) => "broken",
            Some(Ok(AvailableDevice::Cpu { .. })) => "cpu",
            Some(Ok(AvailableDevice::Gpu { software: true, .. })) => "software",
            Some(Ok(AvailableDevice::Gpu { .. })) => "gpu",
        })
    };
    let sentence = move || engine.device.with(|device| words::device(device.as_ref()));
    view! { <p class="device note" data-testid="device" data-state=state>{sentence}</p> }
}
