//! The end of the lesson: what was done, and the values found.

use leptos::html::H2;
use leptos::prelude::*;
use straightedge_web::lesson::Step;
use straightedge_web::lesson::summary::summary;
use straightedge_web::text::fill;
use straightedge_web::text::lesson::l;

use crate::session::Guide;

/// The summary behind the last step.
#[component]
pub(super) fn End(guide: Guide) -> impl IntoView {
    let is_open = Memo::new(move |_| guide.is_at_end.get());
    view! { <Show when=move || is_open.get()><Summary guide/></Show> }
}

#[component]
fn Summary(guide: Guide) -> impl IntoView {
    let progress = guide.progress;
    let heading = NodeRef::<H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            // Elements on the page can be focused.
            let _ = heading.focus();
        }
    });
    let title = move || {
        let (done, all) = (progress.with(|progress| progress.count()), Step::ALL.len());
        let gaps = [("done", &*done.to_string()), ("all", &all.to_string())];
        if done == all { l().summary_title.into() } else { fill(l().summary_title_part, &gaps) }
    };
    let item = move |step: Step| {
        let is_done = Memo::new(move |_| progress.with(|progress| progress.is_done(step)));
        view! {
            <li data-done=move || is_done.get().to_string() data-testid=format!("summary-{step}")>
                <strong>{step.texts().title}</strong>
                <span>{move || progress.with(|progress| summary(progress, step))}</span>
            </li>
        }
    };
    view! {
        <article class="end" aria-labelledby="lesson-end" data-testid="lesson-summary">
            <h2 id="lesson-end" tabindex="-1" node_ref=heading>{title}</h2>
            <p>{l().summary_text}</p>
            <ol>{Step::ALL.map(item).collect_view()}</ol>
        </article>
    }
}
