//! Step 4: four ways to misread R², one open at a time; on paper all of them.

use leptos::prelude::*;
use straightedge_web::lesson::Bench;
use straightedge_web::lesson::pictures;
use straightedge_web::lesson::traps::{Baseline, Null as NullTrap, Trap, Traps};
use straightedge_web::text::fill;
use straightedge_web::text::format::{count, fixed, magnitude};
use straightedge_web::text::lesson::l;

use super::handout::Lines;
use super::parts::{Picture, Slider};
use crate::session::Guide;

#[component]
pub(super) fn Example(guide: Guide) -> impl IntoView {
    let Guide { bench, progress, .. } = guide;
    let traps = Memo::new(move |_| bench.with(|bench| bench.traps));
    let chip = move |trap: Trap| {
        let is_open = Memo::new(move |_| traps.get().open == trap);
        let has_shown = Memo::new(move |_| progress.with(|progress| progress.has_shown(trap)));
        view! {
            <button
                type="button" class="chip" data-testid=format!("trap-{}", trap.id())
                aria-pressed=move || is_open.get().to_string() data-done=move || has_shown.get().to_string()
                on:click=move |_| bench.update(|bench| bench.traps.open = trap)
            >
                {trap.name()}{move || has_shown.get().then_some(" ✓")}
            </button>
        }
    };
    let section = move |trap: Trap| {
        let is_open = Memo::new(move |_| traps.get().open == trap);
        view! {
            <div class="trap" hidden=move || !is_open.get()>
                <p class="paper-title">{trap.name()}</p>
                <p class="trap-about">{trap.about()}</p>
                {match trap {
                    Trap::Scalar => view! { <Scalar bench traps/> }.into_any(),
                    Trap::Outlier => view! { <Outlier bench traps/> }.into_any(),
                    Trap::Null => view! { <Null bench traps/> }.into_any(),
                    Trap::Baseline => view! { <Trained bench traps/> }.into_any(),
                }}
                <Lines name=l().handout_saw/>
            </div>
        }
    };
    view! {
        <div class="example">
            <div class="chips" role="group" aria-label=l().traps_choice>{Trap::ALL.map(chip).collect_view()}</div>
            {Trap::ALL.map(section).collect_view()}
        </div>
    }
}

/// The explanation of the open trap. If the step’s text has a column of its own, the explanation is part of that
/// column.
#[component]
pub(super) fn About(bench: RwSignal<Bench>) -> impl IntoView {
    let open = Memo::new(move |_| bench.with(|bench| bench.traps.open));
    view! { <p class="trap-about"><strong>{move || open.get().name()}"."</strong>" "{move || open.get().about()}</p> }
}

#[component]
fn Scalar(bench: RwSignal<Bench>, traps: Memo<Traps>) -> impl IntoView {
    let scalar = Memo::new(move |_| traps.get().scalar);
    let plot = Memo::new(move |_| pictures::scalar(scalar.get()));
    let reading = move || {
        let [own, one] = scalar.get().scores().map(|r2| fixed(Some(r2), 3));
        fill(l().trap_scalar_reading, &[("own", &own), ("one", &one)])
    };
    let value = Signal::derive(move || scalar.get().offset);
    let value_text = Signal::derive(move || fixed(Some(f64::from(value.get()) / 10.0), 1));
    let set = Callback::new(move |offset| bench.update(|bench| bench.traps.scalar.offset = offset));
    view! {
        <Slider name=l().trap_scalar_slider id="trap-slider-scalar".into() min=0 max=30 value value_text set/>
        <Reading id="trap-reading-scalar" value_text=Signal::derive(reading)/>
        <Picture plot label=l().trap_scalar_chart/>
    }
}

#[component]
fn Outlier(bench: RwSignal<Bench>, traps: Memo<Traps>) -> impl IntoView {
    let outlier = Memo::new(move |_| traps.get().outlier);
    let plot = Memo::new(move |_| pictures::outlier(outlier.get()));
    let reading = move || fill(l().trap_outlier_reading, &[("r2", &fixed(Some(outlier.get().fit().0), 3))]);
    let value = Signal::derive(move || outlier.get().size);
    let value_text = Signal::derive(move || value.get().to_string());
    let set = Callback::new(move |size| bench.update(|bench| bench.traps.outlier.size = size));
    let is_on = Signal::derive(move || outlier.get().is_left_out);
    let switch = Callback::new(move |is_on| bench.update(|bench| bench.traps.outlier.is_left_out = is_on));
    view! {
        <Slider name=l().trap_outlier_slider id="trap-slider-outlier".into() min=0 max=40 value value_text set/>
        <Switch id="trap-switch-outlier" name=l().trap_outlier_skip is_on switch/>
        <Reading id="trap-reading-outlier" value_text=Signal::derive(reading)/>
        <Picture plot label=l().trap_outlier_chart/>
    }
}

#[component]
fn Null(bench: RwSignal<Bench>, traps: Memo<Traps>) -> impl IntoView {
    let null = Memo::new(move |_| traps.get().null);
    let is_on = Signal::derive(move || null.get().keeps_all);
    let switch = Callback::new(move |is_on| bench.update(|bench| bench.traps.null.keeps_all = is_on));
    let numbers = move || {
        let (map, r2) = null.get().fit();
        let smallest = map.eigenvalues.last().zip(map.eigenvalues.first()).map(|(least, most)| least / most);
        let rows = [
            (l().trap_null_rank, format!("{} / {}", map.rank, map.weights.len())),
            (l().trap_null_smallest, magnitude(smallest)),
            (l().trap_null_condition, magnitude(Some(map.condition()))),
            (l().trap_null_weight, magnitude(Some(map.largest_weight()))),
            (l().trap_null_r2, fixed(Some(r2), 6)),
        ];
        let row = |(name, value)| view! { <tr><th scope="row">{name}</th><td>{value}</td></tr> };
        rows.map(row).collect_view()
    };
    let note = fill(l().trap_null_note, &[("change", &fixed(Some(NullTrap::change()), 4))]);
    view! {
        <Switch id="trap-switch-null" name=l().trap_null_keep is_on switch/>
        <table class="facts-table" data-testid="trap-reading-null"><tbody>{numbers}</tbody></table>
        <p class="note">{note}</p>
    }
}

#[component]
fn Trained(bench: RwSignal<Bench>, traps: Memo<Traps>) -> impl IntoView {
    let chosen = Memo::new(move |_| traps.get().baseline);
    let plot = Memo::new(move |_| pictures::baseline(chosen.get()));
    let training = Memo::new(|_| Baseline::train());
    let steps = move || count(u64::from(chosen.get().steps()));
    let reading = move || {
        let scores = training.with(|training| chosen.get().scores(training));
        let [trained, solved] = scores.map(|r2| fixed(Some(r2), 3));
        fill(l().trap_baseline_reading, &[("steps", &steps()), ("trained", &trained), ("solved", &solved)])
    };
    let value = Signal::derive(move || chosen.get().tenths);
    let set = Callback::new(move |tenths| bench.update(|bench| bench.traps.baseline.tenths = tenths));
    view! {
        <Slider name=l().trap_baseline_slider id="trap-slider-baseline".into() min=0 max=40 value value_text=Signal::derive(steps) set/>
        <Reading id="trap-reading-baseline" value_text=Signal::derive(reading)/>
        <Picture plot label=l().trap_baseline_chart/>
        <p class="note">{l().trap_baseline_hint}</p>
    }
}

#[component]
fn Reading(id: &'static str, value_text: Signal<String>) -> impl IntoView {
    view! { <p class="reading"><output data-testid=id>{value_text}</output></p> }
}

#[component]
fn Switch(id: &'static str, name: &'static str, is_on: Signal<bool>, switch: Callback<bool>) -> impl IntoView {
    view! {
        <label class="switch">
            <input
                type="checkbox" data-testid=id prop:checked=is_on
                on:change=move |event| switch.run(event_target_checked(&event))
            />
            {name}
        </label>
    }
}
