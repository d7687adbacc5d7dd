//! One block in detail: a strip of all blocks, formulas, numbers, charts, and missing measures.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, Report};
use straightedge_web::figures::detail_numbers::{missing, missing_detail, missing_sentence, numbers, strip_value};
use straightedge_web::figures::{Figure, figures, shown_block};
use straightedge_web::state::keys::next_block;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use straightedge_web::text::cell::Cell;
use straightedge_web::text::detail::t as d;
use straightedge_web::text::engine;
use straightedge_web::text::formula::{self, Formula};
use straightedge_web::text::result::t as r;
use straightedge_web::text::{fill, t};

use super::figure::{FigureView, Place};
use super::mechanism::Mechanism;
use super::panel::Offer;
use super::terms::Term;
use crate::session::{Results, Session};

/// Height of a full bar of the strip, in SVG units.
const FULL: f64 = 40.0;

/// The view of one block.
#[component]
pub(crate) fn Detail(session: Session) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let chosen = session.display.block.get();
        session.results.run.with(|run| {
            let report = run.report()?;
            // If the chosen block is unmeasured, show no other one.
            chosen.or_else(|| shown_block(View::Block, report, None))
        })
    });
    let block = Memo::new(move |_| {
        let number = shown.get()?;
        session.results.run.with(|run| run.blocks().iter().find(|block| block.block == number).cloned())
    });
    let has_block = Memo::new(move |_| block.with(Option::is_some));
    let nothing = move || match shown.get() {
        Some(number) => session.results.run.with(|run| not_there(run.report(), number)),
        None => d().none_measured.into(),
    };
    view! {
        <p class="about">{View::Block.texts()[2]}</p>
        <Show when=move || shown.get().is_some()><Strip session shown/></Show>
        <Show
            when=move || has_block.get()
            fallback=move || view! { <p class="note" data-testid="block-none">{nothing}</p> }
        >
            <section class="detail" aria-labelledby="block-title" data-testid="detail">
                <h3 id="block-title" data-testid="block-title">{move || title(shown.get())}</h3>
                <Mechanism session/>
                <Formulas results=session.results block/>
                <Numbers session block/>
                <Figures session shown/>
                <Missing session block/>
            </section>
        </Show>
    }
}

/// Why nothing is shown of a block that is asked for.
fn not_there(report: Option<&Report>, block: usize) -> String {
    let number = block.to_string();
    match report.map(|report| (&report.model.id, blocks_of(report))) {
        Some((model, blocks)) if block >= blocks && blocks > 0 => {
            let last = (blocks - 1).to_string();
            fill(r().no_such_block, &[("model", model), ("block", &number), ("last", &last)])
        }
        _ => fill(d().not_measured, &[("block", &number)]),
    }
}

fn title(block: Option<usize>) -> String {
    block.map(|block| fill(t().block_n, &[("block", &block.to_string())])).unwrap_or_default()
}

fn blocks_of(report: &Report) -> usize {
    report.model.num_hidden_layers.max(report.blocks.last().map_or(0, |block| block.block + 1))
}

/// All blocks as bars; pointer or arrow keys choose the one shown.
#[component]
fn Strip(session: Session, shown: Memo<Option<usize>>) -> impl IntoView {
    let bars = Memo::new(move |_| {
        session.results.run.with(|run| {
            let Some(report) = run.report() else { return Vec::new() };
            let value = |at: usize| report.blocks.iter().find(|block| block.block == at).and_then(|block| block.r2_lin);
            (0..blocks_of(report)).map(|at| (at, value(at))).collect::<Vec<_>>()
        })
    });
    let count = Memo::new(move |_| bars.with(Vec::len));
    let value_text = Memo::new(move |_| session.results.run.with(|run| Some(strip_value(run.report()?, shown.get()?))));
    let press = move |event: KeyboardEvent| {
        if let Some(Some(next)) = next_block(&event.key(), shown.get_untracked(), count.get_untracked()) {
            event.prevent_default();
            session.display.block.set(Some(next));
        }
    };
    let bar = move |(at, value): (usize, Option<f64>)| {
        let height = value.map_or(0.0, |value| (value.clamp(0.0, 1.0) * FULL).max(1.0));
        let is_shown = move || shown.get() == Some(at);
        view! {
            <span class="bar-of" class:chosen=is_shown data-block=at on:click=move |_| session.display.choose_block(Some(at))>
                <svg viewBox="0 0 10 40" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="room" x="0" y="0" width="10" height=FULL/>
                    <rect class="share" x="0" y=FULL - height width="10" height=height/>
                </svg>
                {at}
            </span>
        }
    };
    view! {
        <div
            class="strip" role="slider" tabindex="0" data-testid="strip" aria-label=d().strip aria-valuemin="0"
            aria-valuemax=move || count.get().saturating_sub(1) aria-valuenow=move || shown.get().unwrap_or(0).min(count.get().saturating_sub(1))
            aria-valuetext=move || value_text.get().unwrap_or_default() on:keydown=press
        >
            {move || bars.get().into_iter().map(bar).collect_view()}
        </div>
    }
}

/// The network's formula, and the map that replaces it.
#[component]
fn Formulas(results: Results, block: Memo<Option<BlockReport>>) -> impl IntoView {
    let formulas = Memo::new(move |_| {
        // Captured rows may have more outputs than inputs.
        let outputs = block.with(|block| block.as_ref().map_or(0, |block| block.r2_features.len()));
        results.run.with(|run| {
            let model = &run.report()?.model;
            let outputs = if outputs == 0 { model.hidden_size } else { outputs };
            Some((formula::network(model), formula::map(model, outputs)))
        })
    });
    let card = |name: &'static str, formula: Formula| {
        view! {
            <div class="formula">
                <p class="label">{name}</p>
                <div role="math" aria-label=formula.plain inner_html=formula.mathml></div>
                <p class="note">{formula.about}</p>
            </div>
        }
    };
    let unknown = move || view! { <p class="note">{d().formula_unknown}</p> };
    view! {
        <div class="formulas" data-testid="formulas">
            {move || formulas.get().map(|(network, map)| {
                let network = network.map_or_else(
                    || unknown().into_any(),
                    |network| card(d().formula_network_name, network).into_any(),
                );
                (network, card(d().formula_map_name, map))
            })}
        </div>
    }
}

#[component]
fn Numbers(session: Session, block: Memo<Option<BlockReport>>) -> impl IntoView {
    let all = Memo::new(move |_| block.with(|block| block.as_ref().map(numbers).unwrap_or_default()));
    let item = move |(field, Cell { shown, full }): (Field, Cell)| {
        view! { <div><dt><Term session name=engine::label(field).into() meaning=engine::definition(field)/></dt><dd data-field=field.name() title=full>{shown}</dd></div> }
    };
    view! {
        <dl class="figures-of" data-testid="block-numbers">{move || all.get().into_iter().map(item).collect_view()}</dl>
        <p class="note">{t().digits}</p>
    }
}

#[component]
fn Figures(session: Session, shown: Memo<Option<usize>>) -> impl IntoView {
    let results = session.results;
    let found = Memo::new(move |_| {
        let block = shown.get();
        results.run.with(|run| run.report().map(|report| figures(View::Block, report, block)).unwrap_or_default())
    });
    let count = Memo::new(move |_| found.with(Vec::len));
    let figure = move |at: usize| {
        let figure: Memo<Figure> = Memo::new(move |_| found.with(|found| found.get(at).cloned().unwrap_or_default()));
        let is_scatter = move || figure.with(|figure| figure.title.ends_with(d().scatter_figure));
        let marked = Memo::new(move |_| session.display.pointed.get().filter(|_| is_scatter()));
        // Shown once; the visitor may then point elsewhere.
        let shown = Callback::new(move |()| session.display.pointed.set(None));
        view! { <FigureView session figure at place=Place::Block marked=(marked, shown)/> }
    };
    view! {
        <p class="note">{t().figure_hint}</p>
        <div class="pairs"><For each=move || 0..count.get() key=|at| *at children=figure/></div>
    }
}

/// Missing measures of this block: buttons where they can be added, else a sentence that says what to order.
#[component]
fn Missing(session: Session, block: Memo<Option<BlockReport>>) -> impl IntoView {
    let results = session.results;
    let is_running = Memo::new(move |_| results.run.with(Run::is_running));
    let can_add = Memo::new(move |_| results.can_extend.get());
    let measures = Memo::new(move |_| {
        block.with(|block| results.run.with(|run| Some(missing(run.report()?, block.as_ref()?)))).unwrap_or_default()
    });
    let sentence = Memo::new(move |_| {
        block.with(|block| {
            results.run.with(|run| missing_sentence(run.report()?, block.as_ref()?, Run::is_untouched(run)))
        })
    });
    let older = Memo::new(move |_| block.with(|block| missing_detail(block.as_ref()?)));
    let offers = move || {
        let offer = |measure| view! { <Offer session view=View::Block measure/> };
        measures.get().into_iter().map(offer).collect_view()
    };
    view! {
        <Show when=move || !is_running.get()>
            {move || if can_add.get() {
                offers().into_any()
            } else {
                sentence.get().map(|text| view! { <p class="note" data-testid="block-missing">{text}</p> }).into_any()
            }}
            {move || older.get().map(|text| view! { <p class="note" data-testid="block-older">{text}</p> })}
        </Show>
    }
}
