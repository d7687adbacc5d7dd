//! The chart in the page: drawn by [`straightedge_web::chart`], with pointer and keyboard handling here.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use straightedge_api::report::Report;
use straightedge_web::chart::profile::{Labels, Profile, ProfileLayout, draw, highlight};
use straightedge_web::export::Sheet;
use straightedge_web::figures::{ranking, table, verdict};
use straightedge_web::state::keys::next_block;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::text::engine;
use straightedge_web::text::result::t as r;
use straightedge_web::text::verdict::t as v;
use straightedge_web::text::{fill, t};
use wasm_bindgen::prelude::*;
use web_sys::ResizeObserver;

use super::exports::Exports;
use super::overlay::{OverlayChoice, OverlayNote};
use super::sources::Sources;
use super::typeset::typeset;
use crate::session::{Results, Session};

/// R² by block, with the exact values of the highlighted block.
#[component]
pub(crate) fn Chart(session: Session) -> impl IntoView {
    let (metric, focus) = (session.compared.metric, session.display.focus);
    let frame = NodeRef::<Div>::new();
    let width = observed_width(frame);
    let profile = Memo::new(move |_| profile(session));
    let blocks = Memo::new(move |_| profile.with(|profile| profile.blocks));
    let layout = Memo::new(move |_| ProfileLayout::new(width.get(), blocks.get()));
    let labels = move || Labels { value: engine::label(metric.get().field()), block: t().chart_axis_block };
    let drawing = move || {
        profile.with(|profile| {
            if width.get() > 0.0 {
                return draw(profile, &layout.get(), labels());
            }
            for_widths(|width| draw(profile, &ProfileLayout::new(width, profile.blocks), labels()))
        })
    };
    let singled_out = move || {
        let block = focus.get()?;
        Some(profile.with(|profile| highlight(profile, &layout.get(), block)))
    };
    let readout = Memo::new(move |_| readout(session));
    let point = move |event: PointerEvent| {
        let left = frame.get_untracked().map_or(0.0, |frame| frame.get_bounding_client_rect().left());
        focus.set(layout.get_untracked().block_at(f64::from(event.client_x()) - left));
    };
    let open = move || {
        if let Some(block) = focus.get_untracked() {
            session.open_block(block);
        }
    };
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            open();
        } else if let Some(next) = next_block(&event.key(), focus.get_untracked(), blocks.get_untracked()) {
            event.prevent_default();
            focus.set(next);
        }
    };
    let finding = Memo::new(move |_| finding(session.results, &profile.read()));
    let label = move || {
        let known = profile.with(|profile| profile.points.len()).to_string();
        let label = fill(t().chart_label, &[("known", &known), ("blocks", &blocks.get().to_string())]);
        finding.get().into_iter().chain([label]).collect::<Vec<_>>().join(" ")
    };
    let is_published = Memo::new(move |_| session.results.introduced.with(Option::is_some));
    let shows_expected = move || profile.with(|profile| !profile.expected.is_empty());
    let shows_undefined = move || profile.with(|profile| profile.points.iter().any(|point| point.value.is_none()));
    let sheet = Callback::new(move |()| {
        let (metric, overlay) = (metric.get_untracked(), untrack(|| session.overlay_shown()));
        let profile = Profile { next: None, ..profile.get_untracked() };
        let sheet = |report: Option<&Report>| Sheet::of_profile(&profile, metric, report, overlay.as_ref());
        Some(session.results.run.with_untracked(|run| sheet(run.report())))
    });
    view! {
        <Sources session/>
        <OverlayChoice session/>
        <Finding results=session.results finding/>
        <figure>
            <div
                class="chart of-blocks" data-testid="chart" node_ref=frame tabindex="0" role="slider" aria-label=label
                aria-valuemin="0" aria-valuemax=move || blocks.get().saturating_sub(1)
                aria-valuenow=move || focus.get().unwrap_or(0) aria-valuetext=readout
                on:pointermove=point on:pointerdown=point on:pointerleave=move |_| focus.set(None)
                on:click=move |_| open() on:keydown=press on:blur=move |_| focus.set(None)
            >
                <div class="drawing" inner_html=drawing></div>
                <div class="drawing over" inner_html=move || singled_out().unwrap_or_default()></div>
            </div>
            <p class="readout" data-testid="readout">{readout}</p>
            <OverlayNote session/>
            <figcaption class="note">
                {move || typeset(if is_published.get() { r().chart_published } else { t().chart_caption })}
                <Show when=shows_expected>" "{t().chart_expected}</Show>
                <Show when=shows_undefined>" "{t().chart_undefined}</Show>
            </figcaption>
            <Ranked session/>
            <Exports sheet at="profile".to_string()/>
        </figure>
    }
}

/// The blocks in order of what the chart shows, once they are all measured.
#[component]
fn Ranked(session: Session) -> impl IntoView {
    let order = Memo::new(move |_| {
        let name = session.compared.metric.get().field().line().interval;
        session.results.run.with(|run| ranking(run.report().filter(|_| !run.is_running())?, name, v().by_r2))
    });
    view! { <Show when=move || order.with(Option::is_some)><p class="note" data-testid="ranking">{order}</p></Show> }
}

/// What the profile shows, in plain words; `None` before its first value.
pub(super) fn finding(results: Results, profile: &Profile) -> Option<String> {
    verdict(profile, results.run.with(Run::is_running))
}

/// The finding above the chart, marked as provisional while it is measured.
#[component]
fn Finding(results: Results, finding: Memo<Option<String>>) -> impl IntoView {
    let is_running = Memo::new(move |_| results.run.with(Run::is_running));
    view! {
        <Show when=move || finding.with(Option::is_some)>
            <p class="finding" class:so-far=move || is_running.get() data-testid="finding">{finding}</p>
        </Show>
    }
}

/// Drawings for several widths, of which the style sheet shows the one that fits: the pre-rendered page cannot know its
/// width.
pub(super) fn for_widths(draw: impl Fn(f64) -> String) -> String {
    let drawing = |(name, width)| format!(r#"<div class="{name}">{}</div>"#, draw(width));
    [("narrow", 320.0), ("middling", 560.0), ("wide", 860.0)].map(drawing).concat()
}

/// Before the first measurement the chart shows the known results of the chosen model.
fn profile(session: Session) -> Profile {
    let overlay = session.overlay_shown().map(|overlay| overlay.values).unwrap_or_default();
    let idle = session.results.run.with(|run| *run.phase() == Phase::Idle);
    if !idle {
        let profile = session.results.run.with(|run| run.profile(session.compared.metric.get()));
        return Profile { overlay, ..profile }.covering();
    }
    let expected = session.choices.expected.get().map(|expected| expected.r2_lin).unwrap_or_default();
    Profile { expected, overlay, ..Profile::default() }.covering()
}

fn readout(session: Session) -> String {
    let metric = session.compared.metric;
    session.results.run.with(|run| match session.display.focus.get() {
        Some(number) => {
            let overlay = session.overlay_shown();
            table::sentence(run, number, metric.get()) + &table::overlay_sentence(number, overlay.as_ref())
        }
        None if run.blocks().is_empty() && session.results.introduced.with(Option::is_none) => String::new(),
        None if session.results.introduced.with(Option::is_some) => r().chart_hint_published.into(),
        None => t().chart_hint.into(),
    })
}

/// The width of an element, updated for as long as its view is open.
pub(super) fn observed_width(element: NodeRef<Div>) -> RwSignal<f64> {
    let width = RwSignal::new(0.0);
    let watch = StoredValue::new_local(None::<Watch>);
    Effect::new(move |_| {
        if let Some(element) = element.get() {
            let measured = element.clone();
            let measure = Closure::<dyn Fn()>::new(move || {
                width.try_set(f64::from(measured.client_width()));
            });
            if let Ok(observer) = ResizeObserver::new(measure.as_ref().unchecked_ref()) {
                observer.observe(&element);
                watch.set_value(Some(Watch { observer, _measure: measure }));
            }
        }
    });
    width
}

/// An observer that ends with its view, because calling a dropped closure is an error.
struct Watch {
    observer: ResizeObserver,
    _measure: Closure<dyn Fn()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}
