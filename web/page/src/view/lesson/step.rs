//! One step: its explanation, its task with the experiment, and what to observe once it is done.

use leptos::html::H2;
use leptos::prelude::*;
use straightedge_web::lesson::Step;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use straightedge_web::text::fill;
use straightedge_web::text::glossary::terms_in;
use straightedge_web::text::lesson::l;

use super::handout::Lines;
use super::{exercises, hand, many, network, published, traps};
use crate::session::Session;
use crate::view::typeset::typeset_owned;

/// One step with everything in it.
#[component]
pub(super) fn OneStep(session: Session, step: Step) -> impl IntoView {
    let texts = step.texts();
    let heading = NodeRef::<H2>::new();
    let is_open = Memo::new(move |_| session.guide.is_open(step));
    // The heading takes the focus when the visitor opens the step, not when the page opens with it.
    Effect::new(move |before: Option<bool>| {
        let is_open = is_open.get();
        if let (true, Some(false), Some(heading)) = (is_open, before, heading.get()) {
            // Elements on the page can be focused.
            let _ = heading.focus();
        }
        is_open
    });
    let id = StoredValue::new(format!("step-title-{step}"));
    let time = fill(l().minutes, &[("minutes", &step.minutes().to_string())]);
    let paragraphs = texts.text.lines().map(|text| view! { <p>{typeset_owned(text.into())}</p> }).collect_view();
    view! {
        <article class="step" hidden=move || !is_open.get() aria-labelledby=id.get_value() data-step=step.to_string()>
            <div class="titled">
                <h2 id=id.get_value() data-testid=id.get_value() tabindex="-1" node_ref=heading>
                    <span class="number">{step.to_string()}</span>" "{texts.title}
                </h2>
                <p class="note time">{time}</p>
            </div>
            <div class="text">
                {paragraphs}
                {step.formula().map(|formula| view! { <div class="formula" inner_html=formula></div> })}
                {step.closed_form().map(closed_form)}
                {(step == Step::Traps).then(|| view! { <traps::About bench=session.guide.bench/> })}
                {terms(step)}
            </div>
            <div class="stage">
                <Task session step/>
                {experiment(session, step)}
                {(!matches!(step, Step::Traps | Step::Exercises)).then(|| view! { <Lines name=l().handout_saw/> })}
            </div>
            <Observations session step/>
        </article>
    }
}

/// What the terms in its texts mean, folded.
fn terms(step: Step) -> impl IntoView {
    let texts = step.texts();
    let term = |[name, meaning]: [String; 2]| view! { <dt>{typeset_owned(name)}</dt><dd>{meaning}</dd> };
    let terms = terms_in(&[texts.text, texts.task].join(" ")).into_iter().map(term).collect_view();
    view! {
        <details class="terms">
            <summary>{l().terms}</summary>
            <dl>{terms}</dl>
        </details>
    }
}

/// Notation that a reader may skip.
fn closed_form([name, text, formula]: [String; 3]) -> impl IntoView {
    view! {
        <details class="closed">
            <summary>{name}</summary>
            <p>{text}</p>
            <div class="formula" inner_html=formula></div>
        </details>
    }
}

fn experiment(session: Session, step: Step) -> AnyView {
    match step {
        Step::Network => view! { <network::Example session/> }.into_any(),
        Step::Line => view! { <hand::Example bench=session.guide.bench/> }.into_any(),
        Step::Many => view! { <many::Example bench=session.guide.bench/> }.into_any(),
        Step::Traps => view! { <traps::Example guide=session.guide/> }.into_any(),
        Step::Regimes => view! { <published::Example compared=session.compared/> }.into_any(),
        Step::Exercises => view! { <exercises::All session/> }.into_any(),
        Step::Measure | Step::Swap | Step::Learned => ().into_any(),
    }
}

/// The task, whether it is done, and the button that does it.
#[component]
fn Task(session: Session, step: Step) -> impl IntoView {
    let is_done = Memo::new(move |_| session.guide.progress.with(|progress| progress.is_done(step)));
    let is_measured = matches!(step, Step::Measure | Step::Swap);
    let is_busy = Memo::new(move |_| is_measured && session.results.run.with(Run::is_running));
    let obstacle = Memo::new(move |_| session.display.frame.with(|frame| step.obstacle(frame)));
    // A task of several presses says so.
    let is_one_of_several = matches!(step, Step::Traps | Step::Learned | Step::Regimes);
    let name = move || match is_busy.get() {
        true => l().busy,
        false if is_one_of_several => l().do_next,
        false => l().do_it,
    };
    view! {
        <div class="task" data-testid=format!("task-{step}") data-done=move || is_done.get().to_string()>
            <h3>{l().to_do}</h3>
            <p>{step.texts().task}</p>
            <p class="act">
                <Show when=move || step.can_be_done() && obstacle.get().is_none()>
                    <button
                        type="button" class="more" data-testid=format!("do-{step}") disabled=move || is_busy.get()
                        on:click=move |_| session.do_step(step)
                    >
                        {name}
                    </button>
                </Show>
                <span class="note">{move || obstacle.get()}</span>
                <span class="done" role="status" data-testid=format!("done-{step}")>
                    {move || is_done.get().then_some(l().done)}
                </span>
            </p>
        </div>
    }
}

/// What to observe: after the task is done, so that nobody reads the outcome before seeing it.
#[component]
fn Observations(session: Session, step: Step) -> impl IntoView {
    let is_done = Memo::new(move |_| session.guide.progress.with(|progress| progress.is_done(step)));
    view! {
        <div class="look" data-testid=format!("look-{step}") hidden=move || !is_done.get()>
            <h3>{l().look_for}</h3>
            <p>{step.texts().observations}</p>
            {(step == Step::Swap).then(|| view! {
                <button type="button" data-testid="look-sides" on:click=move |_| session.display.open_view(View::Continuation)>
                    {l().swap_sides}
                </button>
            })}
        </div>
    }
}
