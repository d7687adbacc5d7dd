//! A chart with its legend, readout and table; it reacts to pointer and keyboard.

use std::collections::BTreeSet;

use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use straightedge_web::chart::draw::{Layout, draw, sample, single_out};
use straightedge_web::chart::plot::Spot;
use straightedge_web::export::Sheet;
use straightedge_web::figures::{Figure, Grid};
use straightedge_web::text::cell::Cell;
use straightedge_web::text::{fill, t};

use super::chart::{for_widths, observed_width};
use super::exports::Exports;
use super::terms::explained;
use super::typeset::typeset_owned;
use crate::session::Session;

/// Location of a figure, which decides which notes it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a view of the measurement.
    #[default]
    View,
    /// Among other figures of one block, which need neither the block's name nor a hint each.
    Block,
    /// Of several measurements, with one legend for all charts.
    Many,
    /// Next to a continuation.
    Continuation,
}

/// One figure; `at` is its number within the view. `point` receives the highlighted mark. `marked` is a mark of the
/// first series to highlight and scroll into view; the figure calls it once that is done.
#[component]
pub(crate) fn FigureView(
    session: Session,
    figure: Memo<Figure>,
    at: usize,
    #[prop(optional)] place: Place,
    #[prop(optional)] point: Option<Callback<usize>>,
    #[prop(optional)] marked: Option<(Memo<Option<usize>>, Callback<()>)>,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let width = observed_width(frame);
    let spot = RwSignal::new(None::<Spot>);
    // Stored by name: the view's next figure may have the series in other positions.
    let hidden = RwSignal::new(BTreeSet::<String>::new());
    let plot = Memo::new(move |_| figure.with(|figure| hidden.with(|hidden| figure.plot.without(hidden))));
    let layout = Memo::new(move |_| plot.with(|plot| Layout::new(plot, width.get())));
    let drawing = move || {
        plot.with(|plot| {
            // In a browser the width is known before anything is shown.
            if cfg!(target_arch = "wasm32") {
                return layout.with(|layout| draw(plot, layout));
            }
            for_widths(|width| draw(plot, &Layout::new(plot, width)))
        })
    };
    let singled_out =
        move || spot.get().map(|spot| plot.with(|plot| layout.with(|layout| single_out(plot, layout, spot))));
    let readout = Memo::new(move |_| match spot.get() {
        Some(spot) => plot.with(|plot| plot.describe(spot)),
        None if place == Place::Block => String::new(),
        None => t().figure_hint.into(),
    });
    let nearest = move |event: &MouseEvent| {
        let rect = frame.get_untracked()?.get_bounding_client_rect();
        let (x, y) = (f64::from(event.client_x()) - rect.left(), f64::from(event.client_y()) - rect.top());
        plot.with_untracked(|plot| layout.with_untracked(|layout| layout.nearest(plot, x, y)))
    };
    let choose = move || {
        let block = plot.with_untracked(|plot| plot.mark(spot.get_untracked()?)?.block);
        if block.is_some() {
            session.display.choose_block(block);
        }
    };
    let press = move |event: KeyboardEvent| {
        let key = event.key();
        if key == "Enter" {
            choose();
        } else if let Some(next) = plot.with_untracked(|plot| plot.step(&key, spot.get_untracked())) {
            event.prevent_default();
            spot.set(next);
        }
    };
    let title = Memo::new(move |_| figure.with(|figure| figure.title.clone()));
    let count = move || plot.with(|plot| plot.count(spot.get()));
    let label = move || fill(t().figure_label, &[("title", &title.get()), ("marks", &count().1.to_string())]);
    let facts = move || {
        let facts = figure.with(|figure| figure.facts.clone());
        facts.into_iter().map(|fact| view! { <li>{fact}</li> }).collect_view()
    };
    let sheet = Callback::new(move |()| match place {
        Place::Continuation => session.continued.state.with_untracked(Sheet::of_continuation),
        Place::Many => Some(figure.with_untracked(|figure| Sheet::of_figure(figure, None))),
        Place::View | Place::Block => session.results.run.with_untracked(|run| {
            run.report().map(|report| figure.with_untracked(|figure| Sheet::of_figure(figure, Some(report))))
        }),
    });
    if let Some(point) = point {
        Effect::new(move |_| spot.get().map(|(_, mark)| point.run(mark)));
    }
    if let Some((marked, shown)) = marked {
        Effect::new(move |_| {
            if let (Some(mark), Some(frame)) = (marked.get(), frame.get()) {
                frame.scroll_into_view();
                // Elements on the page can be focused.
                let _ = frame.focus();
                spot.set(Some((0, mark)));
                shown.run(());
            }
        });
    }
    view! {
        <figure class="plot" data-testid=format!("figure-{at}")>
            <h3>{move || explained(session, &if place == Place::Block { without_block_name(&title.get()) } else { title.get() })}</h3>
            {(place != Place::Many).then(|| view! { <Legend figure hidden/> })}
            <div
                class="chart" data-testid=format!("chart-{at}") node_ref=frame tabindex="0" role="slider"
                aria-label=label aria-valuemin="0" aria-valuemax=move || count().1.saturating_sub(1)
                aria-valuenow=move || count().0 aria-valuetext=readout
                on:pointermove=move |event: PointerEvent| spot.set(nearest(&event))
                on:pointerdown=move |event: PointerEvent| { spot.set(nearest(&event)); choose(); }
                on:pointerleave=move |_| spot.set(None) on:blur=move |_| spot.set(None) on:keydown=press
            >
                <div class="drawing" inner_html=drawing></div>
                <div class="drawing over" inner_html=move || singled_out().unwrap_or_default()></div>
            </div>
            <p class="readout" data-testid=format!("readout-{at}")>{readout}</p>
            <ul class="facts" data-testid=format!("facts-{at}")>{facts}</ul>
            <figcaption class="note">{move || figure.with(|figure| typeset_owned(figure.notes()).into_any())}</figcaption>
            <Exports sheet at=at.to_string()/>
            <Numbers session figure at/>
        </figure>
    }
}

/// A title without its leading block name.
fn without_block_name(title: &str) -> String {
    let Some((_, rest)) = title.split_once(": ") else { return title.into() };
    let mut letters = rest.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The legend, if there is more than one series; each can be hidden and shown again.
#[component]
fn Legend(figure: Memo<Figure>, hidden: RwSignal<BTreeSet<String>>) -> impl IntoView {
    let entries = Memo::new(move |_| {
        figure.with(|figure| {
            let named = figure.plot.series.iter().filter(|series| !series.name.is_empty());
            named.map(|series| (sample(series), series.name.clone())).collect::<Vec<_>>()
        })
    });
    let item = move |(sample, name): (String, String)| {
        let own = name.clone();
        let is_shown = move || (!hidden.with(|hidden| hidden.contains(&own))).to_string();
        let own = name.clone();
        let toggle = move |_| {
            hidden.update(|hidden| {
                if !hidden.remove(&own) {
                    hidden.insert(own.clone());
                }
            });
        };
        view! {
            <li>
                <button type="button" aria-pressed=is_shown on:click=toggle><span inner_html=sample></span>{name}</button>
            </li>
        }
    };
    let items = move || entries.get().into_iter().map(item).collect_view();
    view! {
        <Show when=move || entries.with(|entries| entries.len() > 1)>
            <ul class="legend" aria-label=t().legend>{items}</ul>
        </Show>
    }
}

/// The table of a figure, folded; rows are built only while it is open.
#[component]
fn Numbers(session: Session, figure: Memo<Figure>, at: usize) -> impl IntoView {
    let is_open = RwSignal::new(false);
    view! {
        <details class="numbers" data-testid=format!("numbers-{at}")>
            <summary on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)>{t().in_numbers}</summary>
            {move || is_open.get().then(|| view! { <GridView session table=figure.with(|figure| figure.table.clone())/> })}
        </details>
    }
}

/// A table.
#[component]
pub(super) fn GridView(session: Session, table: Grid) -> impl IntoView {
    let head = table.head.into_iter().map(|name| view! { <th scope="col">{explained(session, &name)}</th> });
    let rows = table.rows.into_iter().map(|cells| view! { <tr><Cells cells/></tr> });
    view! {
        <div class="scroll" role="region" aria-label=t().in_numbers tabindex="0">
            <table><thead><tr>{head.collect_view()}</tr></thead><tbody>{rows.collect_view()}</tbody></table>
        </div>
    }
}

/// The first cell names its row.
#[component]
fn Cells(cells: Vec<Cell>) -> impl IntoView {
    let mut cells = cells.into_iter();
    let first = cells.next();
    view! {
        <th scope="row">{first.map(|first| first.shown)}</th>
        {cells.map(|cell| view! { <td title=cell.full>{cell.shown}</td> }).collect_view()}
    }
}
