//! Tools for a class: large type for a projector, the handout and its answer key on paper, and starting over.

use leptos::prelude::*;
use straightedge_web::lesson::Print;
use straightedge_web::text::lesson::l;

use crate::session::Guide;

/// The row of tools below the steps.
#[component]
pub(super) fn Tools(guide: Guide) -> impl IntoView {
    let printed = window_event_listener_untyped("afterprint", move |_| guide.paper.set(Print::default()));
    on_cleanup(move || printed.remove());
    let print = move |paper: Print| {
        guide.paper.set(paper);
        // The page shows the chosen paper before it is printed.
        request_animation_frame(|| {
            // A browser without printing does nothing.
            let _ = window().print();
        });
    };
    let is_projected = move || guide.is_projected.get().to_string();
    view! {
        <div class="tools" role="group" aria-label=l().tools>
            <span class="note">{l().tools}</span>
            <button
                type="button" class="chip" data-testid="lesson-projector" aria-pressed=is_projected
                on:click=move |_| guide.is_projected.update(|is_projected| *is_projected = !*is_projected)
            >
                {l().projector}
            </button>
            <button type="button" class="chip" data-testid="print-handout" on:click=move |_| print(Print::Handout)>
                {l().print_handout}
            </button>
            <button type="button" class="chip" data-testid="print-key" on:click=move |_| print(Print::Key)>
                {l().print_key}
            </button>
            <StartOver guide/>
        </div>
    }
}

/// Deletes what the browser keeps of the lesson, after a second click.
#[component]
fn StartOver(guide: Guide) -> impl IntoView {
    view! {
        <details class="start-over">
            <summary class="chip" data-testid="start-over">{l().start_over}</summary>
            <p class="note">{l().start_over_about}</p>
            <button
                type="button" class="small" data-testid="start-over-now" on:click=move |_| guide.start_over()
            >
                {l().start_over_now}
            </button>
        </details>
    }
}
