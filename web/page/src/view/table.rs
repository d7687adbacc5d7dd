//! The table under the chart: the numbers of every block, growing as blocks finish.

use leptos::prelude::*;
use straightedge_api::fields::Field;
use straightedge_api::report::BlockReport;
use straightedge_web::figures::table::cells;
use straightedge_web::state::bundled::Verdict;
use straightedge_web::text::cell::Cell;
use straightedge_web::text::engine;
use straightedge_web::text::format::rounded;
use straightedge_web::text::t;

use super::terms::Term;
use crate::session::{Results, Session};

/// One row, ready to show.
#[derive(Clone, PartialEq)]
struct Row {
    block: usize,
    cells: Vec<Cell>,
    /// The cell of the column of expected values, if that column exists.
    expected: Option<Option<Verdict>>,
}

/// The numbers of all blocks.
#[component]
pub(crate) fn Table(session: Session) -> impl IntoView {
    let rows = Memo::new(move |_| rows(session.results));
    let has_expected = Memo::new(move |_| session.results.run.with(|run| run.expected().is_some()));
    let body = move || rows.get().into_iter().map(|row| view! { <TableRow session row/> }).collect_view();
    view! {
        <Show when=move || rows.with(|rows| !rows.is_empty())>
            <h2 id="table-name">{t().table_name}</h2>
            <p class="note">{t().digits}</p>
            <div class="scroll" role="region" aria-labelledby="table-name" tabindex="0">
                <table data-testid="table" aria-labelledby="table-name">
                    <thead><tr><Headings session has_expected=has_expected.get()/></tr></thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
        </Show>
    }
}

/// The expected value is right after the measured one.
#[component]
fn Headings(session: Session, has_expected: bool) -> impl IntoView {
    let heading = |name: &str, meaning| view! { <th scope="col"><Term session name=name.into() meaning/></th> };
    let mut fields = Field::table().map(|field| heading(engine::label(field), engine::definition(field)));
    let first = fields.next();
    let expected = has_expected.then(|| heading(t().expected, t().expected_meaning.into()));
    view! {
        <th scope="col">{t().block}</th>
        {first}
        {expected}
        {fields.collect_view()}
    }
}

#[component]
fn TableRow(session: Session, row: Row) -> impl IntoView {
    let Row { block, cells, expected } = row;
    let in_focus = move || session.display.focus.get() == Some(block);
    let mut cells = cells.into_iter().zip(Field::table()).map(|(cell, field)| {
        view! { <td data-column=field.name() title=cell.full>{cell.shown}</td> }
    });
    let first = cells.next();
    view! {
        <tr
            data-testid=format!("row-{block}") class:focus=in_focus
            on:pointerenter=move |_| session.display.focus.set(Some(block))
            on:pointerleave=move |_| session.display.focus.set(None)
            on:click=move |_| session.open_block(block)
        >
            <th scope="row">{block}</th>
            {first}
            {expected.map(|verdict| view! { <Expected verdict/> })}
            {cells.collect_view()}
        </tr>
    }
}

#[component]
fn Expected(verdict: Option<Verdict>) -> impl IntoView {
    verdict.map_or_else(
        || view! { <td></td> }.into_any(),
        |verdict| {
            let (sign, name) = if verdict.agrees { ("✓", t().agrees) } else { ("✗", t().differs) };
            let sign = view! { <span class="verdict" role="img" aria-label=name title=name>{sign}</span> };
            let Cell { shown, full } = Cell::number(verdict.expected, None, rounded);
            view! { <td data-column="expected" class:differs=!verdict.agrees title=full>{shown}" "{sign}</td> }
                .into_any()
        },
    )
}

fn rows(results: Results) -> Vec<Row> {
    results.run.with(|run| {
        let row = |block: &BlockReport| {
            let expected = run.expected().map(|expected| expected.verdict(block));
            Row { block: block.block, cells: cells(block), expected }
        };
        run.blocks().iter().map(row).collect()
    })
}
