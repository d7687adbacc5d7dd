//! The whole view: what is asked for, where it stands, both texts, and the chart of how far apart they are.

use leptos::prelude::*;
use straightedge_web::continuation::{self, Sides as State};
use straightedge_web::state::course::Phase;
use straightedge_web::state::views::View;
use straightedge_web::state::words;
use straightedge_web::text::sides::t;

use super::super::figure::{FigureView, Place};
use super::ask::Asked;
use super::detail::Detail;
use super::flow::Texts;
use super::spot::Spot;
use crate::session::Session;

/// The whole view.
#[component]
pub(crate) fn Sides(session: Session) -> impl IntoView {
    if session.frame.with_untracked(|frame| frame.is_embedded) {
        return view! { <p class="note">{t().embedded}</p> }.into_any();
    }
    let spot = RwSignal::new(None::<Spot>);
    let has_steps = Memo::new(move |_| session.sides.with(|sides| !sides.transcript().steps.is_empty()));
    view! {
        <p class="about">{View::Sides.texts()[2]}</p>
        <Asked session/>
        <Standing session/>
        <Texts session spot/>
        <Show when=move || has_steps.get()>
            <Kept session/>
            <Detail session spot/>
            <p class="note">{move || session.sides.with(caption)}</p>
            <Apart session spot/>
        </Show>
    }
    .into_any()
}

/// That the texts are of another choice than the present one, and what was measured for them.
#[component]
fn Kept(session: Session) -> impl IntoView {
    let stale = Memo::new(move |_| {
        let (known, model) = (session.known_blocks(), session.model_name());
        let stale = |sides: &State| {
            let is_over = !sides.is_running();
            session.ask.with(|ask| continuation::stale(sides, ask, &known, model.as_deref()).filter(|_| is_over))
        };
        session.sides.with(stale)
    });
    let fit = Memo::new(move |_| session.sides.with(continuation::fit_kept));
    view! {
        {move || stale.get().map(|text| view! { <p class="stale" role="status" data-testid="sides-stale">{text}</p> })}
        {move || fit.get().map(|text| view! { <p class="note" data-testid="sides-fit">{text}</p> })}
    }
}

fn caption(sides: &State) -> String {
    let most = straightedge_web::text::format::magnitude(Some(continuation::most(sides.transcript())));
    straightedge_web::text::fill(t().caption, &[("most", &most)])
}

/// Where it stands, and what went wrong.
#[component]
fn Standing(session: Session) -> impl IntoView {
    let line = Memo::new(move |_| session.sides.with(continuation::status));
    let phase = move || session.sides.with(|sides| sides.phase().id());
    let progress = Memo::new(move |_| session.sides.with(State::progress));
    let is_running = Memo::new(move |_| session.sides.with(State::is_running));
    let share = move || progress.get().map(|progress| progress.fraction().to_string());
    let detail = move || progress.get().map(|progress| words::progress(&progress)).unwrap_or_default();
    let error = Memo::new(move |_| {
        session.sides.with(|sides| match sides.phase() {
            Phase::Failed(error) => Some(words::on_page(&error.to_string())),
            _ => None,
        })
    });
    view! {
        <div class="going">
            <p class="note">
                <span
                    role="status" data-testid="sides-status" data-phase=phase
                    data-run=move || session.sides.with(State::number)
                >{line}</span>
                <Show when=move || !detail().is_empty()>" · "<span>{detail}</span></Show>
            </p>
            <Show when=move || is_running.get()><progress max="1" value=share aria-label=line></progress></Show>
            <div role="alert">
                {move || error.get().map(|text| view! { <p class="error" data-testid="sides-error">{text}</p> })}
            </div>
        </div>
    }
}

/// The chart of it, once it has come to an end; what is pointed at there is told of as well.
#[component]
fn Apart(session: Session, spot: RwSignal<Option<Spot>>) -> impl IntoView {
    let is_running = Memo::new(move |_| session.sides.with(State::is_running));
    let point = Callback::new(move |step| spot.set(Some(Spot { step, is_linear: false })));
    let chart = move || {
        let figure = Memo::new(move |_| session.sides.with(continuation::figure).unwrap_or_default());
        view! { <FigureView session figure at=0 place=Place::Sides point/> }
    };
    view! { <Show when=move || !is_running.get()>{chart()}</Show> }
}
