//! Step 2: an activation with an interval between two handles and a line over it, for pointer and keyboard.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;
use straightedge_web::lesson::Bench;
use straightedge_web::lesson::activation::Activation;
use straightedge_web::lesson::hand::{Hand, Handle, INPUTS, VALUES};
use straightedge_web::text::fill;
use straightedge_web::text::format::fixed;
use straightedge_web::text::lesson::l;
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::network::name;
use super::parts::Choice;

/// Size of the picture, and its margins: left, top, right, bottom.
const SIZE: [f64; 2] = [340.0, 250.0];
const MARGINS: [f64; 4] = [26.0, 10.0, 14.0, 44.0];
const POINTS: usize = 200;
/// Side of a handle's grip area.
const GRIP: f64 = 44.0;

#[component]
pub(super) fn Example(bench: RwSignal<Bench>) -> impl IntoView {
    let hand = Memo::new(move |_| bench.with(|bench| bench.hand));
    let choice = move |activation: Activation| {
        let is_chosen = Signal::derive(move || hand.get().activation == activation);
        let choose = Callback::new(move |()| bench.update(|bench| bench.hand.activation = activation));
        view! { <Choice name=name(activation) id=format!("activation-{}", activation.id()) is_chosen choose/> }
    };
    let line = move |(name, id, is_own): (&'static str, &str, bool)| {
        let is_chosen = Signal::derive(move || hand.get().own.is_some() == is_own);
        let choose = Callback::new(move |()| bench.update(|bench| bench.hand.take(is_own)));
        view! { <Choice name id=id.into() is_chosen choose/> }
    };
    let lines = [(l().line_best, "line-best", false), (l().line_own, "line-own", true)];
    view! {
        <div class="example">
            <div class="chips" role="group" aria-label=l().activation>{Activation::BENT.map(choice).collect_view()}</div>
            <p class="reading"><output data-testid="reading-2">{move || reading(&hand.get())}</output></p>
            <Drawing bench hand/>
            <div class="chips" role="group" aria-label=l().line_which>{lines.map(line).collect_view()}</div>
        </div>
    }
}

/// The numbers of the shown line.
fn reading(hand: &Hand) -> String {
    let (line, r2) = hand.shown();
    let texts = |r2: Option<f64>| if r2.is_some() { fixed(r2, 6) } else { l().line_flat.into() };
    let [low, high] = hand.interval.map(|end| fixed(Some(end), 2));
    let sign = if line.intercept < 0.0 { "−" } else { "+" };
    let [slope, intercept] = [line.slope, line.intercept.abs()].map(|value| fixed(Some(value), 3));
    let (r2, best) = (texts(r2), texts(hand.best().1));
    let gaps = [
        ("low", low.as_str()),
        ("high", &high),
        ("slope", &slope),
        ("sign", sign),
        ("intercept", &intercept),
        ("r2", &r2),
        ("best", &best),
    ];
    fill(if hand.own.is_some() { l().line_reading_own } else { l().line_reading }, &gaps)
}

#[component]
fn Drawing(bench: RwSignal<Bench>, hand: Memo<Hand>) -> impl IntoView {
    let [width, height] = SIZE;
    let (left, right, floor) = (x(INPUTS[0]), x(INPUTS[1]), y(VALUES[0]));
    let across = (-4..=4).step_by(2).map(|at| {
        let at = f64::from(at);
        view! { <text class="tick x" x=x(at) y=floor + 34.0>{fixed(Some(at), 0)}</text> }
    });
    let up = (-1..=5).map(|at| {
        let at = f64::from(at);
        view! {
            <path class=if at == 0.0 { "zero" } else { "grid" } d=format!("M{left} {}H{right}", y(at))/>
            <text class="tick y" x=left - 6.0 y=y(at) + 4.0>{fixed(Some(at), 0)}</text>
        }
    });
    let band = move || {
        let [low, high] = hand.get().interval.map(x);
        format!("M{low:.2} {}H{high:.2}V{floor}H{low:.2}Z", MARGINS[1])
    };
    let curve = move || path(&|at| hand.get().activation.at(at), INPUTS);
    let marked = move || path(&|at| hand.get().activation.at(at), hand.get().interval);
    let line = move || {
        let (line, _) = hand.get().shown();
        path(&|at| line.at(at), INPUTS)
    };
    let error = move || {
        let hand = hand.get();
        let (line, _) = hand.shown();
        between(&|at| hand.activation.at(at), &|at| line.at(at), hand.interval)
    };
    let has_own = Memo::new(move |_| hand.get().own.is_some());
    view! {
        <div class="chart picture hand">
            <svg viewBox=format!("0 0 {width} {height}") role="group" aria-label=l().line_chart>
                <clipPath id="hand-clip">
                    <rect x=left y=MARGINS[1] width=right - left height=floor - MARGINS[1]/>
                </clipPath>
                <path class="band" d=band/>
                {up.collect_view()}
                {across.collect_view()}
                <g clip-path="url(#hand-clip)">
                    <path class="error" d=error/>
                    <path class="curve" d=curve/>
                    <path class="marked" d=marked/>
                    <path class="fit" d=line/>
                </g>
                <Grip bench hand handle=Handle::Low label=l().line_low/>
                <Grip bench hand handle=Handle::High label=l().line_high/>
                <Show when=move || has_own.get()>
                    <Grip bench hand handle=Handle::OwnLow label=l().line_own_low/>
                    <Grip bench hand handle=Handle::OwnHigh label=l().line_own_high/>
                </Show>
            </svg>
        </div>
    }
}

/// A handle: dragged, or moved with the arrow keys.
#[component]
fn Grip(bench: RwSignal<Bench>, hand: Memo<Hand>, handle: Handle, label: &'static str) -> impl IntoView {
    let is_dragged = RwSignal::new(false);
    let drag = move |to: f64| bench.update(|bench| bench.hand.drag(handle, to));
    let place = Memo::new(move |_| hand.get().place(handle));
    let centre = Memo::new(move |_| {
        let hand = hand.get();
        match handle {
            Handle::Low | Handle::High => [x(place.get()), y(VALUES[0])],
            Handle::OwnLow => [x(hand.interval[0]), y(place.get())],
            Handle::OwnHigh => [x(hand.interval[1]), y(place.get())],
        }
    });
    let grab = move |event: PointerEvent| {
        event.prevent_default();
        if let Some(grip) = element(&event) {
            // A pointer that already left needs no capture.
            let _ = grip.set_pointer_capture(event.pointer_id());
            focus(&grip);
            is_dragged.set(true);
        }
    };
    let pull = move |event: PointerEvent| {
        let grip = element(&event).filter(|_| is_dragged.get_untracked());
        if let Some(to) = grip.and_then(|grip| value_at(&grip, &event, handle)) {
            drag(to);
        }
    };
    let press = move |event: KeyboardEvent| {
        if let Some(to) = handle.step(&event.key(), place.get_untracked()) {
            event.prevent_default();
            drag(to);
        }
    };
    let ends = if handle.is_upright() { VALUES } else { INPUTS };
    let orientation = if handle.is_upright() { "vertical" } else { "horizontal" };
    let rule = move || {
        let [at, floor] = centre.get();
        if handle.is_upright() { String::new() } else { format!("M{at:.2} {}V{floor}", MARGINS[1]) }
    };
    view! {
        <g
            class="grip" class:upright=handle.is_upright() role="slider" tabindex="0" aria-label=label
            aria-valuemin=ends[0] aria-valuemax=ends[1] aria-valuenow=place aria-orientation=orientation
            data-testid=format!("handle-{}", handle.id())
            on:pointerdown=grab on:pointermove=pull on:keydown=press
            on:pointerup=move |_| is_dragged.set(false) on:pointercancel=move |_| is_dragged.set(false)
        >
            <path class="rule" d=rule/>
            <rect
                class="reach" width=GRIP height=GRIP
                x=move || centre.get()[0] - GRIP / 2.0 y=move || centre.get()[1] - GRIP / 2.0
            />
            <circle class="knob" r="9" cx=move || centre.get()[0] cy=move || centre.get()[1]/>
        </g>
    }
}

/// Position of a pointer on the axis that a handle moves along.
fn value_at(grip: &Element, event: &PointerEvent, handle: Handle) -> Option<f64> {
    let picture = grip.closest("svg").ok()??.get_bounding_client_rect();
    let scale = SIZE[0] / picture.width();
    let [left, top, right, bottom] = MARGINS;
    Some(if handle.is_upright() {
        let down = ((f64::from(event.client_y()) - picture.top()) * scale - top) / (SIZE[1] - top - bottom);
        VALUES[1] - down * (VALUES[1] - VALUES[0])
    } else {
        let along = ((f64::from(event.client_x()) - picture.left()) * scale - left) / (SIZE[0] - left - right);
        INPUTS[0] + along * (INPUTS[1] - INPUTS[0])
    })
}

fn element(event: &PointerEvent) -> Option<Element> {
    event.current_target()?.dyn_into().ok()
}

/// Focuses a grabbed element, so that keys continue where the pointer stopped.
fn focus(grip: &Element) {
    if let Some(grip) = grip.dyn_ref::<web_sys::SvgElement>() {
        // Elements on the page can be focused.
        let _ = grip.focus();
    }
}

fn x(value: f64) -> f64 {
    MARGINS[0] + (value - INPUTS[0]) / (INPUTS[1] - INPUTS[0]) * (SIZE[0] - MARGINS[0] - MARGINS[2])
}

fn y(value: f64) -> f64 {
    MARGINS[1] + (VALUES[1] - value) / (VALUES[1] - VALUES[0]) * (SIZE[1] - MARGINS[1] - MARGINS[3])
}

/// Points along an interval.
fn along([low, high]: [f64; 2]) -> impl DoubleEndedIterator<Item = f64> {
    (0..=POINTS).map(move |at| low + (high - low) * at as f64 / POINTS as f64)
}

fn path(f: &dyn Fn(f64) -> f64, interval: [f64; 2]) -> String {
    let points = along(interval).map(|at| format!("{:.2} {:.2}", x(at), y(f(at)))).collect::<Vec<_>>();
    format!("M{}", points.join("L"))
}

/// The area between two curves.
fn between(f: &dyn Fn(f64) -> f64, g: &dyn Fn(f64) -> f64, interval: [f64; 2]) -> String {
    let there = along(interval).map(|at| [at, f(at)]);
    let back = along(interval).rev().map(|at| [at, g(at)]);
    let points = there.chain(back).map(|[at, value]| format!("{:.2} {:.2}", x(at), y(value))).collect::<Vec<_>>();
    format!("M{}Z", points.join("L"))
}
