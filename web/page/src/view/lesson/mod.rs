//! The lesson next to the instrument: a list of steps, the open one, and navigation. All steps are in the page, so that
//! the lesson prints as a handout; only the open one is visible.

mod exercises;
mod hand;
mod many;
mod network;
mod parts;
mod published;
mod traps;

use leptos::html::H2;
use leptos::prelude::*;
use straightedge_web::lesson::{Step, minutes};
use straightedge_web::text::fill;
use straightedge_web::text::lesson::l;

use super::typeset::typeset_owned;
use crate::session::Session;

/// The lesson, if it is open.
#[component]
pub(crate) fn Lesson(session: Session) -> impl IntoView {
    let is_open = Memo::new(move |_| session.guide.step.with(Option::is_some));
    view! { <Show when=move || is_open.get()><Walk session/></Show> }
}

#[component]
fn Walk(session: Session) -> impl IntoView {
    session.follow_lesson();
    let progress = move || {
        let done = session.guide.progress.with(|progress| progress.count());
        fill(l().progress, &[("done", &done.to_string()), ("all", &Step::ALL.len().to_string())])
    };
    let name = fill(l().open, &[("minutes", &minutes().to_string())]);
    view! {
        <section class="lesson" aria-label=l().lesson data-testid="lesson">
            <header>
                <p class="note"><strong>{name}</strong>" · "<span data-testid="lesson-progress">{progress}</span></p>
                <button
                    type="button" class="small" data-testid="lesson-leave" aria-label=l().leave title=l().leave
                    on:click=move |_| session.leave_lesson()
                >
                    "×"
                </button>
            </header>
            <nav aria-label=l().steps>
                <ol class="steps">{Step::ALL.map(|step| view! { <Place session step/> }).collect_view()}</ol>
            </nav>
            {Step::ALL.map(|step| view! { <OneStep session step/> }).collect_view()}
            <Onwards session/>
        </section>
    }
}

/// A step in the list.
#[component]
fn Place(session: Session, step: Step) -> impl IntoView {
    let is_done = Memo::new(move |_| session.guide.progress.with(|progress| progress.is_done(step)));
    let is_open = Memo::new(move |_| session.guide.step.get() == Some(step));
    let name = move || {
        let text = if is_done.get() { l().step_done } else { l().step };
        fill(text, &[("step", &step.to_string()), ("title", step.told().title)])
    };
    view! {
        <li>
            <button
                type="button" data-testid=format!("step-{step}") aria-label=name title=name
                data-done=move || is_done.get().to_string() aria-current=move || is_open.get().then_some("step")
                on:click=move |_| session.go_to(step)
            >
                {move || if is_done.get() { "✓".into() } else { step.to_string() }}
            </button>
        </li>
    }
}

/// One step with everything in it.
#[component]
fn OneStep(session: Session, step: Step) -> impl IntoView {
    let told = step.told();
    let heading = NodeRef::<H2>::new();
    let is_open = Memo::new(move |_| session.guide.step.get() == Some(step));
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
    let paragraphs = told.text.lines().map(|text| view! { <p>{typeset_owned(text.into())}</p> }).collect_view();
    view! {
        <article class="step" hidden=move || !is_open.get() aria-labelledby=id.get_value() data-step=step.to_string()>
            <h2 id=id.get_value() data-testid=id.get_value() tabindex="-1" node_ref=heading>
                <span class="number">{step.to_string()}</span>" "{told.title}
            </h2>
            <p class="note time">{time}</p>
            {paragraphs}
            {step.formula().map(|formula| view! { <div class="formula" inner_html=formula></div> })}
            {example(session, step)}
            <Task session step/>
            <h3>{l().look_for}</h3>
            <p>{told.look}</p>
        </article>
    }
}

fn example(session: Session, step: Step) -> AnyView {
    match step {
        Step::Network => view! { <network::Example session/> }.into_any(),
        Step::Line => view! { <hand::Example session/> }.into_any(),
        Step::Many => view! { <many::Example session/> }.into_any(),
        Step::Traps => view! { <traps::Example session/> }.into_any(),
        Step::Regimes => view! { <published::Example session/> }.into_any(),
        Step::Exercises => view! { <exercises::All session/> }.into_any(),
        Step::Measure | Step::Swap | Step::Learned => ().into_any(),
    }
}

/// The task, whether it is done, and the button that does it.
#[component]
fn Task(session: Session, step: Step) -> impl IntoView {
    let is_done = Memo::new(move |_| session.guide.progress.with(|progress| progress.is_done(step)));
    let is_busy = Memo::new(move |_| session.is_busy_for(step));
    let hindered = Memo::new(move |_| session.frame.with(|frame| step.hindered(frame)));
    // A task of several presses says so.
    let is_one_of_several = matches!(step, Step::Traps | Step::Learned | Step::Regimes);
    let name = move || match is_busy.get() {
        true => l().busy,
        false if is_one_of_several => l().do_next,
        false => l().do_it,
    };
    view! {
        <div class="task" data-done=move || is_done.get().to_string()>
            <h3>{l().to_do}</h3>
            <p>{step.told().task}</p>
            <p class="act">
                <Show when=move || step.can_be_done() && hindered.get().is_none()>
                    <button
                        type="button" class="more" data-testid=format!("do-{step}") disabled=move || is_busy.get()
                        on:click=move |_| session.do_step(step)
                    >
                        {name}
                    </button>
                </Show>
                <span class="note">{move || hindered.get()}</span>
                <span class="done" role="status" data-testid=format!("done-{step}")>
                    {move || is_done.get().then_some(l().done)}
                </span>
            </p>
        </div>
    }
}

/// Buttons to the previous and the next step; the last one leaves the lesson.
#[component]
fn Onwards(session: Session) -> impl IntoView {
    let step = Memo::new(move |_| session.guide.step.get().unwrap_or_default());
    let name = move || if step.get().next().is_some() { l().next } else { l().finish };
    let has_previous = Memo::new(move |_| step.get().previous().is_some());
    let go = move |to: Option<Step>| match to {
        Some(step) => session.go_to(step),
        None => session.leave_lesson(),
    };
    view! {
        <div class="onwards">
            <Show when=move || has_previous.get()>
                <button
                    type="button" data-testid="lesson-back" on:click=move |_| go(step.get_untracked().previous())
                >
                    {l().previous}
                </button>
            </Show>
            <button
                type="button" class="main" data-testid="lesson-next" on:click=move |_| go(step.get_untracked().next())
            >
                {name}
            </button>
        </div>
    }
}
