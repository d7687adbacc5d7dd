//! One block as a drawing, with a held-out row passing through; it leads to the scatter of all rows.

use leptos::prelude::*;
use straightedge_api::report::{BlockReport, Report};
use straightedge_web::chart::mechanism::draw;
use straightedge_web::figures::mechanism::{mechanism, rows, sentence};
use straightedge_web::figures::shown_block;
use straightedge_web::state::views::View;
use straightedge_web::text::detail::t as d;

use crate::session::Session;

/// The drawing for the block that the view of one block shows.
#[component]
pub(crate) fn Mechanism(session: Session) -> impl IntoView {
    let row = session.display.row;
    let parts = Memo::new(move |_| with_block(session, |report, block| mechanism(report, block, row.get())).flatten());
    let text = Memo::new(move |_| with_block(session, |_, block| sentence(block, row.get())).flatten());
    let count = Memo::new(move |_| with_block(session, |_, block| rows(block)).unwrap_or(0));
    let turn = move |by: usize| {
        let count = count.get_untracked().max(1);
        row.update(|row| *row = (*row + by) % count);
    };
    // Another block may have fewer rows.
    Effect::new(move |_| {
        if row.get() >= count.get().max(1) {
            row.set(0);
        }
    });
    let drawings = move || {
        let drawings = parts.get().map(|parts| draw(&parts))?;
        let [narrow, wide] = drawings.map(|svg| view! { <div inner_html=svg></div> });
        Some((view! { <div class="narrow">{narrow}</div> }, view! { <div class="wide">{wide}</div> }))
    };
    let has_rows = Memo::new(move |_| count.get() > 0);
    view! {
        <Show when=move || parts.with(Option::is_some)>
            <figure class="mechanism" data-testid="mechanism">
                <div
                    class="drawn" role="img" aria-label=d().mechanism_label data-testid="mechanism-drawing"
                    on:click=move |_| session.display.point_at_row()
                >
                    {drawings}
                </div>
                <Show when=move || has_rows.get()>
                    <p class="reading"><output data-testid="mechanism-values">{move || text.get()}</output></p>
                    <div class="chips">
                        <button
                            type="button" class="chip" data-testid="mechanism-previous"
                            on:click=move |_| turn(count.get_untracked().max(1) - 1)
                        >
                            {d().mechanism_previous}
                        </button>
                        <button type="button" class="chip" data-testid="mechanism-next" on:click=move |_| turn(1)>
                            {d().mechanism_next}
                        </button>
                        <button
                            type="button" class="chip" data-testid="mechanism-scatter"
                            on:click=move |_| session.display.point_at_row()
                        >
                            {d().mechanism_scatter}
                        </button>
                    </div>
                </Show>
                <figcaption class="note">{d().mechanism_caption}</figcaption>
            </figure>
        </Show>
    }
}

fn with_block<T>(session: Session, read: impl FnOnce(&Report, &BlockReport) -> T) -> Option<T> {
    let chosen = session.display.block.get();
    session.results.run.with(|run| {
        let report = run.report()?;
        let number = shown_block(View::Block, report, chosen)?;
        report.blocks.iter().find(|block| block.block == number).map(|block| read(report, block))
    })
}
