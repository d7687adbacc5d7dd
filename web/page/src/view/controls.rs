//! The start and cancel buttons, and the device that measurements run on.

use leptos::prelude::*;
use straightedge_api::message::Device as Found;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::state::words;
use straightedge_web::text::t;

use crate::session::Session;

/// Measure, or Cancel while it runs.
#[component]
pub(crate) fn Go(session: Session) -> impl IntoView {
    let phase = Memo::new(move |_| session.run.with(|run| run.phase().clone()));
    let is_running = move || phase.with(|phase| *phase == Phase::Running);
    let is_untouched = Memo::new(move |_| session.run.with(Run::is_untouched));
    let name = move || if is_untouched.get() { t().measure } else { t().measure_again };
    // Only one button is emphasised: with known results shown, it is the one that measures that model.
    let is_second = move || session.knows() || session.calls_elsewhere();
    view! {
        <div class="go">
            <Show
                when=is_running
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

/// Adapter and limits, or that there is none.
#[component]
pub(crate) fn Device(session: Session) -> impl IntoView {
    let state = move || {
        session.device.with(|device| match device {
            None => "probing",
            Some(Err(_)) => "broken",
            Some(Ok(Found::Cpu { .. })) => "cpu",
            Some(Ok(Found::Gpu { software: true, .. })) => "software",
            Some(Ok(Found::Gpu { .. })) => "gpu",
        })
    };
    let sentence = move || session.device.with(|device| words::device(device.as_ref()));
    view! { <p class="device note" data-testid="device" data-state=state>{sentence}</p> }
}
