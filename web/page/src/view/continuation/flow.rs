//! Both texts as they grow. A token reacts to pointer, touch and keyboard, and shows the divergence of the models.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use straightedge_api::continuation::Step;
use straightedge_web::continuation::{self, ContinuationState};
use straightedge_web::state::keys::next_token;
use straightedge_web::text::continuation::t;
use straightedge_web::text::fill;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::spot::Spot;
use crate::session::Continued;

/// The two columns, one below the other on narrow screens.
#[component]
pub(super) fn Texts(continued: Continued, spot: RwSignal<Option<Spot>>) -> impl IntoView {
    let is_there = Memo::new(move |_| continued.state.with(|continuation| continuation.transcript().opening.is_some()));
    let heading = move || {
        continued.state.with(|continuation| {
            continuation.transcript().opening.as_ref().map(|opening| continuation::heading(&opening.blocks))
        })
    };
    view! {
        <Show when=move || is_there.get()>
            <div class="sides">
                <Flow continued spot is_linear=false heading=Signal::derive(|| t().original.to_string())/>
                <Flow
                    continued spot is_linear=true heading=Signal::derive(move || heading().unwrap_or_default())
                />
            </div>
        </Show>
    }
}

/// One text.
#[component]
fn Flow(continued: Continued, spot: RwSignal<Option<Spot>>, is_linear: bool, heading: Signal<String>) -> impl IntoView {
    let count = Memo::new(move |_| continued.state.with(|continuation| continuation.transcript().steps.len()));
    let number = Memo::new(move |_| continued.state.with(ContinuationState::number));
    let prompt = move || continued.state.with(|continuation| continuation.prompt().to_string());
    let press = move |event: KeyboardEvent| {
        let at = spot.get_untracked().map(|spot| spot.step);
        if let Some(step) = next_token(&event.key(), at, count.get_untracked()) {
            event.prevent_default();
            focus(Spot { step, is_linear });
        }
    };
    let label = move || fill(t().flow_label, &[("name", &heading.get()), ("tokens", &count.get().to_string())]);
    let most = Memo::new(move |_| continued.state.with(|continuation| continuation::most(continuation.transcript())));
    let word = move |(_, at): (u32, usize)| view! { <Word continued spot most at is_linear/> };
    view! {
        <section class="side" class:of-linear=is_linear>
            <h3>{heading}</h3>
            <div class="flow" role="group" aria-label=label on:keydown=press>
                <span class="prompt">{prompt}</span>
                // Another continuation has other tokens at the same positions.
                <For each=move || (0..count.get()).map(move |at| (number.get(), at)) key=|key| *key children=word/>
            </div>
        </section>
    }
}

/// One token.
#[component]
fn Word(
    continued: Continued,
    spot: RwSignal<Option<Spot>>,
    most: Memo<f64>,
    at: usize,
    is_linear: bool,
) -> impl IntoView {
    let Some(step) = continued.state.with_untracked(|continuation| continuation.transcript().steps.get(at).cloned())
    else {
        return ().into_any();
    };
    let here = Spot { step: at, is_linear };
    let is_parting = continued.state.with_untracked(|continuation| continuation.transcript().parting()) == Some(at);
    let (text, kl) = (written(&step, is_linear), step.clone());
    let is_pointed_at = Memo::new(move |_| spot.get().is_some_and(|spot| spot.step == at));
    // One token is in the tab order: the highlighted one, else the first.
    let tab = move || match spot.get() {
        Some(spot) if spot == here => "0",
        None if at == 0 => "0",
        Some(spot) if spot.is_linear != is_linear && at == 0 => "0",
        _ => "-1",
    };
    let bar = (!is_linear).then_some(move || format!("{:.3}", continuation::bar(&kl, most.get())));
    view! {
        <span
            class="token" class:other=is_linear && !step.is_same() class:parting=is_parting
            class:pointed=move || is_pointed_at.get()
            role="button" id=id(here) data-testid=id(here) tabindex=tab aria-label=continuation::label(&step, is_linear)
            style=("--kl", move || bar.as_ref().map_or("0".into(), |bar| bar()))
            on:pointerenter=move |_| spot.set(Some(here)) on:focus=move |_| spot.set(Some(here))
            on:click=move |_| spot.set(Some(here))
        >{text}</span>
    }
    .into_any()
}

/// A token in its text; one that completes no character is shown as a mark.
fn written(step: &Step, is_linear: bool) -> String {
    let token = if is_linear { &step.token.linear } else { &step.token.original };
    if token.text.is_empty() { "·".into() } else { token.text.clone() }
}

fn id(spot: Spot) -> String {
    format!("{}-{}", if spot.is_linear { "linear" } else { "original" }, spot.step)
}

fn focus(spot: Spot) {
    let token = document().get_element_by_id(&id(spot)).and_then(|token| token.dyn_into::<HtmlElement>().ok());
    if let Some(token) = token {
        // Elements on the page can be focused.
        let _ = token.focus();
    }
}
