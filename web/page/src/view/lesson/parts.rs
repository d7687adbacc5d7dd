//! Parts that several examples share: a picture with its legend, a slider, a row of choices.

use leptos::prelude::*;
use straightedge_web::chart::draw::{Layout, draw, sample};
use straightedge_web::chart::plot::Plot;

/// Widths that pictures are drawn for, on a phone or on paper and on a large panel; they are scaled to the space there
/// is, and the style sheet chooses.
const WIDTHS: [(&str, f64); 2] = [("small", 340.0), ("large", 580.0)];

/// A plot as a picture, described by `label` and by the reading next to it.
#[component]
pub(super) fn Picture(plot: Memo<Plot>, label: &'static str) -> impl IntoView {
    let drawing = |(class, width): (&'static str, f64)| {
        let drawn = move || plot.with(|plot| draw(plot, &Layout::new(plot, width)));
        view! { <div class=format!("drawing {class}") inner_html=drawn></div> }
    };
    let legend = Memo::new(move |_| {
        plot.with(|plot| plot.series.iter().map(|series| (sample(series), series.name.clone())).collect::<Vec<_>>())
    });
    let entries = move || {
        let entries = legend.get().into_iter();
        entries.map(|(sample, name)| view! { <li><span inner_html=sample></span>{name}</li> }).collect_view()
    };
    view! {
        <div class="chart picture" role="img" aria-label=label>{WIDTHS.map(drawing).collect_view()}</div>
        <ul class="legend plain">{entries}</ul>
    }
}

/// A slider over whole numbers with its name and value.
#[component]
pub(super) fn Slider(
    name: &'static str,
    id: String,
    min: u32,
    max: u32,
    #[prop(into)] value: Signal<u32>,
    #[prop(into)] value_text: Signal<String>,
    set: Callback<u32>,
) -> impl IntoView {
    let slide = move |event| {
        if let Ok(value) = event_target_value(&event).parse() {
            set.run(value);
        }
    };
    view! {
        <label class="slide">
            <span>{name}</span>
            <input
                type="range" min=min max=max data-testid=id aria-valuetext=value_text
                prop:value=move || value.get().to_string() on:input=slide
            />
            <output>{value_text}</output>
        </label>
    }
}

/// One of several choices, as a button that stays pressed.
#[component]
pub(super) fn Choice(
    name: &'static str,
    id: String,
    #[prop(into)] is_chosen: Signal<bool>,
    choose: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            type="button" class="chip" data-testid=id aria-pressed=move || is_chosen.get().to_string()
            on:click=move |_| choose.run(())
        >
            {name}
        </button>
    }
}
