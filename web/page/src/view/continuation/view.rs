//! The whole view: the blocks, both texts next to the profile, the request, its status, and the chart of the texts'
//! divergence.

use leptos::prelude::*;
use straightedge_web::continuation::{self, ContinuationState as State};
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::views::View;
use straightedge_web::state::words;
use straightedge_web::text::continuation::t;

use super::super::figure::{FigureView, Place};
use super::detail::Detail;
use super::flow::Texts;
use super::form::{BlockChoice, PromptForm};
use super::recorded::{RecordedTexts, SmallProfile};
use super::spot::Spot;
use crate::session::{Continued, Session};

/// The whole view.
#[component]
pub(crate) fn ContinuationState(session: Session) -> impl IntoView {
    let pair = Memo::new(move |_| session.recorded_pair());
    let is_recorded = Memo::new(move |_| pair.with(Option::is_some));
    if session.display.frame.with_untracked(|frame| frame.is_embedded) {
        return view! {
            <Show when=move || is_recorded.get() fallback=|| view! { <p class="note">{t().embedded}</p> }>
                <BlockChoice session/>
                <RecordedTexts pair/>
            </Show>
        }
        .into_any();
    }
    let spot = RwSignal::new(None::<Spot>);
    let has_steps =
        Memo::new(move |_| session.continued.state.with(|continuation| !continuation.transcript().steps.is_empty()));
    view! {
        <p class="about">{View::Continuation.texts()[2]}</p>
        <div class="stage">
            <div class="stage-texts">
                <BlockChoice session/>
                <Show when=move || has_steps.get()><Kept session/></Show>
                <Show when=move || is_recorded.get() fallback=move || view! { <Texts continued=session.continued spot/> }>
                    <RecordedTexts pair/>
                </Show>
            </div>
            <SmallProfile session/>
        </div>
        <PromptForm session/>
        <ProgressPair continued=session.continued/>
        <Show when=move || has_steps.get()>
            <Detail continued=session.continued spot/>
            <p class="note">{move || session.continued.state.with(caption)}</p>
            <Apart session spot/>
        </Show>
    }
    .into_any()
}

/// Notes that the choices have changed since these texts, and that the maps measured for them are kept.
#[component]
fn Kept(session: Session) -> impl IntoView {
    let Continued { form, state, .. } = session.continued;
    let stale = Memo::new(move |_| {
        let (known, model) = (session.known_blocks(), session.choices.model_name());
        let stale = |continuation: &State| {
            let is_over = !continuation.is_running();
            form.with(|form| continuation::stale(continuation, form, &known, model.as_deref()).filter(|_| is_over))
        };
        state.with(stale)
    });
    let fit = Memo::new(move |_| state.with(continuation::fit_kept));
    view! {
        {move || stale.get().map(|text| view! { <p class="stale" role="status" data-testid="sides-stale">{text}</p> })}
        {move || fit.get().map(|text| view! { <p class="note" data-testid="sides-fit">{text}</p> })}
    }
}

fn caption(continuation: &State) -> String {
    let most = straightedge_web::text::format::magnitude(Some(continuation::most(continuation.transcript())));
    straightedge_web::text::fill(t().caption, &[("most", &most)])
}

/// Status, and error if any.
#[component]
fn ProgressPair(continued: Continued) -> impl IntoView {
    let line = Memo::new(move |_| continued.state.with(continuation::status));
    let phase = move || continued.state.with(|continuation| continuation.phase().id());
    let progress = Memo::new(move |_| continued.state.with(State::progress));
    let is_running = Memo::new(move |_| continued.state.with(State::is_running));
    let share = move || progress.get().map(|progress| progress.fraction().to_string());
    let detail = move || progress.get().map(|progress| words::progress(&progress)).unwrap_or_default();
    let error = Memo::new(move |_| {
        continued.state.with(|continuation| match continuation.phase() {
            Phase::Failed(error) => Some(words::on_page(&error.sentence())),
            _ => None,
        })
    });
    view! {
        <div class="going">
            <p class="note">
                <span
                    role="status" data-testid="sides-status" data-phase=phase
                    data-run=move || continued.state.with(State::number)
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

/// Its chart, once it has ended; a mark highlighted there is shown in the detail as well.
#[component]
fn Apart(session: Session, spot: RwSignal<Option<Spot>>) -> impl IntoView {
    let is_running = Memo::new(move |_| session.continued.state.with(State::is_running));
    let point = Callback::new(move |step| spot.set(Some(Spot { step, is_linear: false })));
    let chart = move || {
        let figure = Memo::new(move |_| session.continued.state.with(continuation::figure).unwrap_or_default());
        view! { <FigureView session figure at=0 place=Place::Continuation point/> }
    };
    view! { <Show when=move || !is_running.get()>{chart()}</Show> }
}
