//! The lesson: a list of steps, the open one, and navigation. A step with an experiment of its own fills the page, and
//! the others stand next to the instrument. All steps are in the page, so that the lesson prints as a handout; only the
//! open one is visible.

mod end;
mod exercises;
mod hand;
mod handout;
mod many;
mod network;
mod parts;
mod published;
mod step;
mod tools;
mod traps;

use leptos::prelude::*;
use straightedge_web::lesson::{Step, minutes};
use straightedge_web::text::fill;
use straightedge_web::text::lesson::l;

use end::End;
use handout::Front;
use step::OneStep;
use tools::Tools;

use crate::session::{Guide, Session};

/// The lesson, if it is open.
#[component]
pub(crate) fn Lesson(session: Session) -> impl IntoView {
    let is_open = Memo::new(move |_| session.guide.step.with(Option::is_some));
    view! { <Show when=move || is_open.get()><Walk session/></Show> }
}

#[component]
fn Walk(session: Session) -> impl IntoView {
    session.follow_lesson();
    let guide = session.guide;
    let progress = move || {
        let done = guide.progress.with(|progress| progress.count());
        fill(l().progress, &[("done", &done.to_string()), ("all", &Step::ALL.len().to_string())])
    };
    let is_staged = move || guide.step.get().is_some_and(Step::is_staged);
    let name = fill(l().open, &[("minutes", &minutes().to_string())]);
    view! {
        <section
            class="lesson" aria-label=l().lesson data-testid="lesson" data-staged=move || is_staged().to_string()
            data-projector=move || guide.is_projected.get().to_string() data-paper=move || guide.paper.get().id()
        >
            <header>
                <p class="note"><strong>{name}</strong>" · "<span data-testid="lesson-progress">{progress}</span></p>
                <nav aria-label=l().steps>
                    <ol class="steps">{Step::ALL.map(|step| view! { <Place guide step/> }).collect_view()}</ol>
                </nav>
                <button
                    type="button" class="small" data-testid="lesson-leave" aria-label=l().leave title=l().leave
                    on:click=move |_| guide.leave()
                >
                    "×"
                </button>
            </header>
            <Front session/>
            {Step::ALL.map(|step| view! { <OneStep session step/> }).collect_view()}
            <End guide/>
            <Onwards guide/>
            <Tools guide/>
        </section>
    }
}

/// A step in the list.
#[component]
fn Place(guide: Guide, step: Step) -> impl IntoView {
    let is_done = Memo::new(move |_| guide.progress.with(|progress| progress.is_done(step)));
    let is_open = Memo::new(move |_| guide.step.get() == Some(step));
    let name = move || {
        let text = if is_done.get() { l().step_done } else { l().step };
        fill(text, &[("step", &step.to_string()), ("title", step.texts().title)])
    };
    view! {
        <li>
            <button
                type="button" data-testid=format!("step-{step}") aria-label=name title=name
                data-done=move || is_done.get().to_string() aria-current=move || is_open.get().then_some("step")
                on:click=move |_| guide.go_to(step)
            >
                {move || if is_done.get() { "✓".into() } else { step.to_string() }}
            </button>
        </li>
    }
}

/// Buttons to the previous and the next step; behind the last one stands the summary, which leads out of the lesson.
#[component]
fn Onwards(guide: Guide) -> impl IntoView {
    let step = Memo::new(move |_| guide.step.get().unwrap_or_default());
    let name = move || match (guide.is_at_end.get(), step.get().next()) {
        (true, _) => l().leave,
        (false, Some(_)) => l().next,
        (false, None) => l().finish,
    };
    let has_previous = Memo::new(move |_| guide.is_at_end.get() || step.get().previous().is_some());
    let back = move |_| match guide.is_at_end.get_untracked() {
        true => guide.go_to(step.get_untracked()),
        false => guide.go_to(step.get_untracked().previous().unwrap_or_default()),
    };
    view! {
        <div class="onwards">
            <Show when=move || has_previous.get()>
                <button type="button" data-testid="lesson-back" on:click=back>{l().previous}</button>
            </Show>
            <button type="button" class="main" data-testid="lesson-next" on:click=move |_| guide.next()>{name}</button>
        </div>
    }
}
