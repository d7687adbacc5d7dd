//! The open view: its description, its figures, and a button for each missing measure.

use leptos::prelude::*;
use straightedge_api::job::Measure;
use straightedge_web::figures::{Figure, figures, pair, replacement_name, replacements, shown_block};
use straightedge_web::state::cost;
use straightedge_web::state::form::PUBLISHED;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::{View, is_complete, name, question, refusal, refused};
use straightedge_web::text::format::duration;
use straightedge_web::text::groups::t as g;
use straightedge_web::text::pairs::t as pairs;
use straightedge_web::text::result::t as r;
use straightedge_web::text::{fill, t};

use super::figure::FigureView;
use super::terms::explained;
use crate::session::{Results, Session};

/// Any view but the profile.
#[component]
pub(crate) fn Panel(session: Session, view: View) -> impl IntoView {
    let found = Memo::new(move |_| {
        let block = session.display.block.get();
        session.results.run.with(|run| run.report().map(|report| figures(view, report, block)).unwrap_or_default())
    });
    let count = Memo::new(move |_| found.with(Vec::len));
    let figure = move |at: usize| {
        let figure: Memo<Figure> = Memo::new(move |_| found.with(|found| found.get(at).cloned().unwrap_or_default()));
        view! { <FigureView session figure at/> }
    };
    view! {
        <p class="about">{explained(session, view.texts()[2])}</p>
        <Show when=move || view.is_by_block()><BlockChoice session view/></Show>
        <For each=move || 0..count.get() key=|at| *at children=figure/>
        {(view == View::Losses).then(|| view! { <Pair session/> })}
        {(view == View::Controls).then(|| view! { <Feed session/> })}
        <Missing session view/>
    }
}

/// Place of the figure of two replacements, behind all others of its view.
const PAIR: usize = 9;

/// Two replacements, to be chosen, and by how much their losses differ in every block.
#[component]
fn Pair(session: Session) -> impl IntoView {
    let names = Memo::new(move |_| session.results.run.with(|run| run.report().map(replacements).unwrap_or_default()));
    let chosen = RwSignal::new([None::<String>, None]);
    // Until two are chosen, the first two that the report has.
    let shown = Memo::new(move |_| {
        let names = names.get();
        let of = |at: usize| chosen.with(|chosen| chosen[at].clone()).filter(|name| names.contains(name));
        Some([of(0).or_else(|| names.first().cloned())?, of(1).or_else(|| names.get(1).cloned())?])
    });
    let figure = Memo::new(move |_| {
        let [first, second] = shown.get()?;
        session.results.run.with(|run| pair(run.report()?, [&first, &second]))
    });
    let drawn = Memo::new(move |_| figure.get().unwrap_or_default());
    let choice = move |at: usize, label: &'static str| {
        let option = move |name: String| {
            let own = name.clone();
            let is_shown = move || shown.with(|shown| shown.as_ref().is_some_and(|shown| shown[at] == own));
            view! { <option value=name.clone() selected=is_shown>{replacement_name(&name)}</option> }
        };
        let options = move || names.get().into_iter().map(option).collect_view();
        let change = move |event| chosen.update(|chosen| chosen[at] = Some(event_target_value(&event)));
        view! {
            <select aria-label=label data-testid=format!("pair-{at}") on:change=change>{options}</select>
        }
    };
    view! {
        <Show when=move || names.with(|names| names.len() > 1)>
            <p class="pick" data-testid="pair">
                {pairs().choice} {choice(0, pairs().first)} {pairs().with} {choice(1, pairs().second)}
            </p>
            <Show when=move || figure.with(Option::is_some)><FigureView session figure=drawn at=PAIR/></Show>
        </Show>
    }
}

/// The block shown, in views of one block.
#[component]
fn BlockChoice(session: Session, view: View) -> impl IntoView {
    let results = session.results;
    let shown = Memo::new(move |_| {
        let chosen = session.display.block.get();
        results.run.with(|run| shown_block(view, run.report()?, chosen))
    });
    let blocks = Memo::new(move |_| results.measured_blocks());
    let options = move || {
        let option = |block: usize| {
            view! { <option value=block selected=move || shown.get() == Some(block)>{block}</option> }
        };
        blocks.get().into_iter().map(option).collect_view()
    };
    view! {
        <Show when=move || shown.get().is_some()>
            <label class="pick">
                {t().block_choice}
                <select
                    data-testid="block-select"
                    on:change=move |event| session.display.choose_block(event_target_value(&event).parse().ok())
                >
                    {options}
                </select>
            </label>
        </Show>
    }
}

/// The model whose rows the controls feed through this one's networks.
#[component]
fn Feed(session: Session) -> impl IntoView {
    let typed = move || session.choices.form.with(|form| form.feed.clone());
    let change = move |event| {
        let name = event_target_value(&event).trim().to_owned();
        session.choices.form.update(|form| form.feed = name);
    };
    let can_order = Memo::new(move |_| session.results.can_extend.get() || session.can_order_more());
    let known = move || {
        let index = session.choices.index.get().unwrap_or_default();
        let bundled = index.into_iter().map(|bundled| (bundled.name, bundled.title));
        let on_hub = PUBLISHED.map(|(id, title)| (id.into(), title.into()));
        let others = bundled.chain(on_hub).filter(|(name, _)| session.choices.model_name().as_ref() != Some(name));
        others.map(|(name, title)| view! { <option value=name>{title}</option> }).collect_view()
    };
    view! {
        <Show when=move || can_order.get()>
            <label for="feed">{t().feed}</label>
            <input
                id="feed" type="text" data-testid="feed" list="feeding-models" autocomplete="off" autocapitalize="off"
                spellcheck="false" placeholder=t().feed_none aria-describedby="feed-note" prop:value=typed on:change=change
            />
            <datalist id="feeding-models">{known}</datalist>
            <p class="note" id="feed-note">{t().feed_hint}</p>
        </Show>
    }
}

/// The incomplete measures: a question and a button with its cost each, or why they are unavailable. A reason that
/// several share is shown once.
#[component]
fn Missing(session: Session, view: View) -> impl IntoView {
    let is_running = Memo::new(move |_| session.results.run.with(Run::is_running));
    let missing = Memo::new(move |_| {
        let mut missing: Vec<(Measure, Option<String>)> = Vec::new();
        let measures = view.measures().iter().filter(|measure| !is_running.get() && is_missing(session, **measure));
        for measure in measures {
            let why = unavailable(session, *measure);
            if why.is_none() || missing.iter().all(|(_, known)| *known != why) {
                missing.push((*measure, why));
            }
        }
        missing
    });
    let shown = move |(measure, why): (Measure, Option<String>)| match why {
        Some(why) => view! { <p class="offer note" data-testid=format!("refused-{measure}")>{why}</p> }.into_any(),
        None => view! { <Offer session view measure/> }.into_any(),
    };
    view! { <For each=move || missing.get() key=Clone::clone children=shown/> }
}

fn is_missing(session: Session, measure: Measure) -> bool {
    let is_complete = session.results.run.with(|run| run.report().is_some_and(|report| is_complete(measure, report)));
    !is_complete || measure == Measure::Controls && session.is_fed_anew()
}

/// Why a measure cannot be added to the measurement shown.
fn unavailable(session: Session, measure: Measure) -> Option<String> {
    let results = session.results;
    let refusal = results.run.with(|run| refusal(measure, run.report()?));
    let refused = refusal.map(|refusal| refused(measure, refusal));
    refused.or_else(|| (!results.can_extend.get() && !session.can_order_more()).then(|| unextended(results).into()))
}

/// Why the report shown cannot be extended.
fn unextended(results: Results) -> &'static str {
    results.run.with(|run| match run.report() {
        Some(_) if run.is_opened() => t().measure_opened,
        Some(_) => t().measure_recorded,
        None => r().nothing_to_add_to,
    })
}

/// The question a measure answers, and a button that adds it to the measurement shown, for all blocks or one. If
/// nothing was measured here yet, the button starts a measurement that includes it.
#[component]
pub(super) fn Offer(session: Session, view: View, measure: Measure) -> impl IntoView {
    let results = session.results;
    let scope = RwSignal::new(None::<usize>);
    let is_by_block = view.is_by_block() && measure != Measure::RankSwap;
    let can_scope = Memo::new(move |_| is_by_block && results.can_extend.get());
    let label = move || match (results.can_extend.get(), measure) {
        (true, _) => fill(g().add, &[("measure", name(measure))]),
        (false, Measure::Fit) => t().measure.into(),
        (false, _) => fill(g().with, &[("measure", name(measure))]),
    };
    let cost = Memo::new(move |_| {
        let is_here = results.can_extend.get();
        let seconds = results.run.with(|run| cost::seconds(measure, run.report()?, scope.get()));
        match seconds.map(duration) {
            Some(time) => fill(if is_here { g().cost_add } else { g().cost_with }, &[("time", &time)]),
            None => g().cost_unknown.into(),
        }
    });
    let blocks = Memo::new(move |_| results.measured_blocks());
    let options = move || {
        let option = |block: usize| {
            let name = fill(t().block_n, &[("block", &block.to_string())]);
            view! { <option value=block>{name}</option> }
        };
        blocks.get().into_iter().map(option).collect_view()
    };
    let start = move |_| {
        if !results.can_extend.get_untracked() {
            return session.measure_with(measure);
        }
        session.extend(measure, scope.get_untracked());
        if let Some(block) = scope.get_untracked() {
            session.display.block.set(Some(block));
        }
    };
    view! {
        <div class="offer">
            <p class="question" data-testid=format!("asks-{measure}")>{question(measure)}</p>
            <button type="button" class="more" data-testid=format!("measure-{measure}") on:click=start>{label}</button>
            <Show when=move || can_scope.get()>
                <select
                    aria-label=t().block_choice data-testid=format!("scope-{measure}")
                    on:change=move |event| scope.set(event_target_value(&event).parse().ok())
                >
                    <option value="">{t().measure_all}</option>
                    {options}
                </select>
            </Show>
            <p class="note" data-testid=format!("cost-{measure}")>{cost}</p>
        </div>
    }
}
