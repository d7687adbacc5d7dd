//! Brings one measurement after the other to the front, by a slider or by itself: a run's steps become a film.

use std::time::Duration;

use leptos::prelude::*;
use straightedge_web::comparison::sources::{Sources, full_name};
use straightedge_web::text::t;

use crate::session::Compared;

/// How long each one stays in front while playing.
const STAY: Duration = Duration::from_millis(1100);

/// Slider and button, shown from the third measurement on, when lines begin to hide each other.
#[component]
pub(crate) fn Stepper(compared: Compared, known: Memo<Sources>) -> impl IntoView {
    let count = Memo::new(move |_| compared.chart.with(|comparison| comparison.shown().len()));
    let front = Memo::new(move |_| compared.chart.with(|comparison| comparison.front()));
    let name = Memo::new(move |_| {
        let line = known.with(|known| compared.chart.with(|comparison| known.lines(comparison)));
        let line = line.into_iter().find(|line| front.get().is_some() && !line.is_behind);
        line.map_or(t().compare_front_none.into(), |line| full_name(&line.name, line.source))
    });
    let slide = move |event| {
        let at: Option<usize> = event_target_value(&event).parse().ok();
        compared.chart.update(|comparison| comparison.bring_to_front(at.and_then(|at| at.checked_sub(1))));
    };
    view! {
        <Show when=move || { count.get() > 2 }>
            <div class="stepper">
                <Play compared/>
                <label>
                    {t().compare_front}
                    <input
                        type="range" min="0" max=count value="0" data-testid="front" aria-valuetext=name
                        prop:value=move || front.get().map_or(0, |at| at + 1).to_string() on:input=slide
                    />
                </label>
                <output data-testid="front-name">{name}</output>
            </div>
        </Show>
    }
}

/// Cycles through all of them until stopped; the style hides it where the visitor prefers reduced motion, so that only
/// the slider is there.
#[component]
fn Play(compared: Compared) -> impl IntoView {
    let ticking = RwSignal::new(None::<IntervalHandle>);
    let stop = move || {
        if let Some(handle) = ticking.try_update(Option::take).flatten() {
            handle.clear();
        }
    };
    let start = move || {
        let advance = move || compared.chart.update(|comparison| comparison.advance());
        advance();
        ticking.set(set_interval_with_handle(advance, STAY).ok());
    };
    let is_playing = Memo::new(move |_| ticking.with(Option::is_some));
    let press = move |_| if is_playing.get_untracked() { stop() } else { start() };
    on_cleanup(stop);
    view! {
        <button type="button" class="small" data-testid="play" on:click=press>
            {move || if is_playing.get() { t().compare_pause } else { t().compare_play }}
        </button>
    }
}
