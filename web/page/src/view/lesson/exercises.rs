//! Step 9: exercises; answers are folded, and some are checked against the page's report.

use leptos::prelude::*;
use straightedge_web::lesson::Print;
use straightedge_web::lesson::exercises::Exercise;
use straightedge_web::text::lesson::l;

use super::handout::Lines;
use crate::session::Session;

#[component]
pub(super) fn All(session: Session) -> impl IntoView {
    let checked = Exercise::CHECKED.map(|exercise| view! { <Question session exercise is_checked=true/> });
    let open = Exercise::OPEN.map(|exercise| view! { <Question session exercise is_checked=false/> });
    view! { <ol class="exercises">{checked.collect_view()}{open.collect_view()}</ol> }
}

#[component]
fn Question(session: Session, exercise: Exercise, is_checked: bool) -> impl IntoView {
    let [question, answer] = exercise.texts();
    view! {
        <li>
            <p>{question}</p>
            {is_checked.then(|| view! { <Field session exercise/> })}
            {(!is_checked).then(|| view! { <Lines name=l().exercise_answer/> })}
            <details class="answer" open=move || session.guide.paper.get() == Print::Key>
                <summary>{l().exercise_show}</summary>
                <p>{answer}</p>
            </details>
        </li>
    }
}

/// Input of a number, and the verdict on it.
#[component]
fn Field(session: Session, exercise: Exercise) -> impl IntoView {
    let bench = session.guide.bench;
    let given = Memo::new(move |_| bench.with(|bench| bench.answers.get(&exercise).cloned().unwrap_or_default()));
    let is_known = Memo::new(move |_| session.results.run.with(|run| exercise.solution(run.report()).is_some()));
    let verdict = Memo::new(move |_| session.results.run.with(|run| exercise.is_right(&given.get(), run.report())));
    let feedback = move || match (is_known.get(), verdict.get()) {
        (false, _) => l().exercise_unknown,
        (true, Some(true)) => l().exercise_right,
        (true, Some(false)) => l().exercise_wrong,
        (true, None) => "",
    };
    let write = move |event| {
        let answer = event_target_value(&event);
        bench.update(|bench| {
            bench.answers.insert(exercise, answer);
        });
    };
    view! {
        <label class="answer-field">
            <span>{l().exercise_answer}</span>
            <input
                type="text" inputmode="numeric" maxlength="12" autocomplete="off"
                data-testid=format!("answer-{}", exercise.id()) prop:value=given on:change=write
            />
            <output
                data-testid=format!("verdict-{}", exercise.id())
                data-right=move || verdict.get().map(|is_right| is_right.to_string())
            >
                {feedback}
            </output>
        </label>
    }
}
