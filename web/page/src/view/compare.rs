//! The comparison: any number of measurements in one chart, with presets.

use leptos::prelude::*;
use straightedge_api::fields::Field;
use straightedge_web::chart::draw::sample;
use straightedge_web::chart::plot::Series;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::presets::Preset;
use straightedge_web::comparison::sources::{Source, Sources, full_name};
use straightedge_web::figures::{Figure, compared};
use straightedge_web::state::frame::Part;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use straightedge_web::text::engine;
use straightedge_web::text::paper::t as paper;
use straightedge_web::text::{fill, t};

use super::atlas::Atlas;
use super::cards::Cards;
use super::figure::{FigureView, Place};
use super::overlay::OpenReport;
use super::stepper::Stepper;
use super::typeset::typeset;
use crate::session::{Compared, Session};

/// The view of several measurements.
#[component]
pub(crate) fn Compare(session: Session) -> impl IntoView {
    session.begin_comparing();
    let known = Memo::new(move |_| session.known());
    let is_empty = Memo::new(move |_| session.compared.chart.with(|comparison| comparison.entries().is_empty()));
    let is_loaded = move || session.compared.recorded.with(Option::is_some);
    let nothing = move || if is_loaded() { t().compare_empty } else { t().compare_waiting };
    view! {
        <p class="about">{View::Compare.texts()[2]}</p>
        <Presets session/>
        <Quantities compared=session.compared known/>
        <Runs session known/>
        <Show when=move || is_empty.get()><p class="note">{nothing}</p></Show>
        <Stepper compared=session.compared known/>
        <Charts session known/>
        <div class="overlay-bar">
            <Add compared=session.compared known/>
            <OpenReport session/>
        </div>
        <Cards session known/>
        <Atlas session/>
    }
}

#[component]
fn Presets(session: Session) -> impl IntoView {
    let chosen = Memo::new(move |_| session.compared.chart.with(|comparison| comparison.preset()));
    let is_there = move |preset: Preset| {
        session.choices.index.with(|index| preset.keys(index.as_deref().unwrap_or_default()).len() > 1)
    };
    let button = move |preset: Preset| {
        view! {
            <Show when=move || is_there(preset)>
                <button
                    type="button" class="chip" data-testid=format!("preset-{}", preset.id())
                    aria-pressed=move || (chosen.get() == Some(preset)).to_string()
                    on:click=move |_| session.compare(preset)
                >
                    {preset.texts()[0]}
                </button>
            </Show>
        }
    };
    view! {
        <div class="presets">
            <div class="chips" role="group" aria-label=t().compare_presets>
                {Preset::ALL.map(button).collect_view()}
            </div>
            <div class="chips" role="group" aria-labelledby="paper-figures">
                <span class="chips-name" id="paper-figures">{paper().group}</span>
                {Preset::PAPER.map(button).collect_view()}
            </div>
            {move || chosen.get().map(|preset| view! { <p class="note" data-testid="preset-about">{preset.texts()[1]}</p> })}
        </div>
    }
}

/// The compared items, which also serve as legend.
#[component]
fn Runs(session: Session, known: Memo<Sources>) -> impl IntoView {
    let chart = session.compared.chart;
    let keys =
        move || chart.with(|comparison| comparison.entries().iter().map(|entry| entry.key.clone()).collect::<Vec<_>>());
    view! {
        <ul class="runs" data-testid="runs" aria-label=t().compare_runs>
            <For each=keys key=Key::value children=move |key| view! { <RunItem session known key/> }/>
        </ul>
    }
}

#[component]
fn RunItem(session: Session, known: Memo<Sources>, key: Key) -> impl IntoView {
    let key = StoredValue::new(key);
    let of = move || key.get_value();
    let name = Memo::new(move |_| match known.with(|known| known.find(&of())) {
        Some((name, source, _)) => (name, Some(source)),
        None => (t().status_starting.into(), None),
    });
    let entry = Memo::new(move |_| session.compared.chart.with(|comparison| comparison.entry(&of()).cloned()));
    let swatch = move || {
        let style = entry.get().map(|entry| entry.style).unwrap_or_default();
        sample(&Series { style, joined: true, marked: true, ..Series::default() })
    };
    let is_shown = move || entry.get().is_some_and(|entry| !entry.is_hidden).to_string();
    let is_free = Memo::new(move |_| {
        let is_locked = session.display.frame.with(|frame| frame.locked.contains(&Part::Model));
        !is_locked && !session.results.run.with(Run::is_running)
    });
    let can_measure = move || is_free.get() && of().bundled().is_some();
    let label = move |text: &'static str| move || fill(text, &[("name", &name.get().0)]);
    view! {
        <li data-source=move || name.get().1.map(Source::text)>
            <button
                type="button" class="show" data-testid="show" aria-pressed=is_shown
                on:click=move |_| session.compared.chart.update(|comparison| comparison.toggle(&of()))
            >
                <span inner_html=swatch></span>
                <span class="name">{move || name.get().0}</span>
                <span class="source">{move || name.get().1.map(Source::text)}</span>
            </button>
            <Show when=can_measure>
                <button
                    type="button" class="small" data-testid="measure" aria-label=label(t().compare_measure_name)
                    on:click=move |_| session.measure_recorded(&of())
                >
                    {t().compare_measure}
                </button>
            </Show>
            <button
                type="button" class="small" data-testid="remove"
                aria-label=label(t().compare_remove) title=label(t().compare_remove)
                on:click=move |_| session.compared.chart.update(|comparison| comparison.remove(&of()))
            >
                <span aria-hidden="true">"×"</span>
            </button>
        </li>
    }
}

/// Adds an item that is not compared yet.
#[component]
fn Add(compared: Compared, known: Memo<Sources>) -> impl IntoView {
    let choices = Memo::new(move |_| {
        let is_new = |key: &Key| compared.chart.with(|comparison| comparison.entry(key).is_none());
        known.with(|known| {
            let groups = known.choices().into_iter().map(|(name, keys)| {
                let named = |key: Key| Some((known.find(&key).map(|(name, source, _)| full_name(&name, source))?, key));
                (name, keys.into_iter().filter(is_new).filter_map(named).collect::<Vec<_>>())
            });
            groups.filter(|(_, keys)| !keys.is_empty()).collect::<Vec<_>>()
        })
    });
    let groups = move || {
        let groups = choices.get().into_iter().map(|(name, keys)| {
            let options = keys.into_iter().map(|(name, key)| view! { <option value=key.value()>{name}</option> });
            view! { <optgroup label=name>{options.collect_view()}</optgroup> }
        });
        groups.collect_view()
    };
    let add = move |event| {
        let value = event_target_value(&event);
        let keys = choices.get_untracked().into_iter().flat_map(|(_, keys)| keys);
        if let Some((_, key)) = keys.into_iter().find(|(_, key)| key.value() == value) {
            compared.add(key);
        }
    };
    view! {
        <label class="pick">
            {t().compare_add}
            <select data-testid="add" on:change=add>
                <option value="" selected=move || choices.with(|_| true)>{t().compare_add_choose}</option>
                {groups}
            </select>
        </label>
    }
}

/// Choice of charts.
#[component]
fn Quantities(compared: Compared, known: Memo<Sources>) -> impl IntoView {
    let lines = Memo::new(move |_| compared.chart.with(|comparison| known.with(|known| known.lines(comparison))));
    let is_had = move |quantity| lines.with(|lines| lines.iter().any(|line| !line.summary.curve(quantity).is_empty()));
    let chosen = Memo::new(move |_| compared.chart.with(|comparison| comparison.quantities()));
    let button = move |(at, quantity): (usize, Field)| {
        let is_chosen = move || chosen.with(|chosen| chosen.contains(&quantity));
        view! {
            <Show when=move || is_chosen() || is_had(quantity)>
                <button
                    type="button" class="chip" data-testid=format!("quantity-{at}")
                    aria-pressed=move || is_chosen().to_string()
                    on:click=move |_| compared.chart.update(|comparison| comparison.toggle_quantity(quantity))
                >
                    {typeset(engine::label(quantity))}
                </button>
            </Show>
        }
    };
    view! {
        <div class="chips" role="group" aria-label=t().compare_quantities>
            {Field::charts().enumerate().map(button).collect_view()}
        </div>
    }
}

#[component]
fn Charts(session: Session, known: Memo<Sources>) -> impl IntoView {
    let lines =
        Memo::new(move |_| session.compared.chart.with(|comparison| known.with(|known| known.lines(comparison))));
    let chosen = move || {
        let quantities = session.compared.chart.with(|comparison| comparison.quantities());
        quantities.into_iter().enumerate().collect::<Vec<_>>()
    };
    let chart = move |(at, quantity): (usize, Field)| {
        let found = Memo::new(move |_| lines.with(|lines| compared(lines, quantity)));
        let figure: Memo<Figure> = Memo::new(move |_| found.get().unwrap_or_default());
        let without = Memo::new(move |_| {
            lines.with(|lines| {
                let without = lines.iter().filter(|line| line.summary.curve(quantity).is_empty());
                without.map(|line| full_name(&line.name, line.source)).collect::<Vec<_>>().join(", ")
            })
        });
        let missing = move || {
            let gaps = [("quantity", engine::label(quantity)), ("names", &without.get())];
            fill(t().compare_unmeasured_some, &gaps).replace("_lin", "")
        };
        view! {
            <Show when=move || found.with(Option::is_some)><FigureView session figure at place=Place::Many/></Show>
            <Show when=move || without.with(|names| !names.is_empty())>
                <p class="note" data-testid=format!("without-{at}")>{missing}</p>
            </Show>
        }
    };
    view! { <For each=chosen key=|chosen| *chosen children=chart/> }
}
