//! Step 3: the best map of more and more inputs, on its training rows and on held-out rows.

use leptos::prelude::*;
use straightedge_web::lesson::Bench;
use straightedge_web::lesson::many::{INPUTS, ROWS, scores};
use straightedge_web::lesson::pictures;
use straightedge_web::text::fill;
use straightedge_web::text::format::fixed;
use straightedge_web::text::lesson::l;

use super::parts::{Picture, Slider};

#[component]
pub(super) fn Example(bench: RwSignal<Bench>) -> impl IntoView {
    let many = Memo::new(move |_| bench.with(|bench| bench.many));
    let rows = Memo::new(move |_| many.get().rows);
    let found = Memo::new(move |_| scores(rows.get()));
    let plot = Memo::new(move |_| found.with(|found| pictures::many(many.get(), found)));
    let reading = move || {
        let (many, scores) = (many.get(), found.with(|found| found.get(many.get().inputs.wrapping_sub(1)).copied()));
        let [training, held_out] =
            [scores.map(|scores| scores.training), scores.map(|scores| scores.held_out)].map(|r2| fixed(r2, 3));
        let counts = [many.inputs.to_string(), many.rows.to_string()];
        let gaps =
            [("inputs", counts[0].as_str()), ("rows", &counts[1]), ("training", &training), ("held_out", &held_out)];
        fill(l().many_reading, &gaps)
    };
    let inputs = Signal::derive(move || many.get().inputs as u32);
    let set = Callback::new(move |inputs: u32| bench.update(|bench| bench.many.inputs = inputs as usize));
    let choice = move |rows: usize| {
        let is_chosen = move || (many.get().rows == rows).to_string();
        view! {
            <button
                type="button" class="chip" data-testid=format!("many-rows-{rows}") aria-pressed=is_chosen
                on:click=move |_| bench.update(|bench| bench.many.rows = rows)
            >
                {rows}
            </button>
        }
    };
    view! {
        <div class="example">
            <Slider
                name=l().many_inputs id="many-inputs".into() min=1 max=INPUTS as u32 value=inputs
                value_text=Signal::derive(move || inputs.get().to_string()) set
            />
            <div class="chips" role="group" aria-label=l().many_rows>
                <span>{l().many_rows}</span>{ROWS.map(choice).collect_view()}
            </div>
            <p class="reading"><output data-testid="reading-3">{reading}</output></p>
            <Picture plot label=l().many_chart/>
        </div>
    }
}
