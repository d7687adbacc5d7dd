//! The protocol, folded, because its defaults suit most users.

use leptos::prelude::*;
use straightedge_api::job::{BackendChoice, GramMode, Measure, Protocol};
use straightedge_web::comparison::overlay::Metric;
use straightedge_web::state::form::{Form, TextChoice};
use straightedge_web::state::{views, words};
use straightedge_web::text::t;

use super::text::offered_evals;
use crate::session::{Choices, Session};

/// Rows, windows, folds and backend.
#[component]
pub(crate) fn ProtocolChoice(session: Session) -> impl IntoView {
    let choices = session.choices;
    let summary = move || choices.form.with(words::protocol);
    view! {
        <details class="fold" data-testid="protocol">
            <summary><span class="title">{t().protocol}</span><span class="note">{summary}</span></summary>
            <div class="fields">
                <Number choices id="rows" name=t().rows meaning=t().rows_meaning field=|form| &mut form.rows/>
                <Number choices id="seq-len" name=t().seq_len meaning=t().seq_len_meaning field=|form| &mut form.seq_len/>
                <Number choices id="folds" name=t().folds meaning=t().folds_meaning field=|form| &mut form.folds/>
                <Number
                    choices id="skip-positions" name=t().skip_positions meaning=t().skip_positions_meaning
                    field=|form| &mut form.skip_positions
                />
                <Switch
                    choices id="interleaved-folds" name=t().interleaved_folds meaning=t().interleaved_folds_meaning
                    field=|form| &mut form.interleaved_folds
                />
                <Switch choices id="bos" name=t().bos meaning=t().bos_meaning field=|form| &mut form.bos/>
                <Number
                    choices id="piece-chars" name=t().piece_chars meaning=t().piece_chars_meaning
                    field=|form| &mut form.piece_chars
                />
                <Evaluated choices/>
                <PaperProtocol session id="of-survey" name=t().of_survey meaning=t().of_survey_meaning fill_in=survey/>
                <PaperProtocol session id="of-notebook" name=t().of_notebook meaning=t().of_notebook_meaning fill_in=notebook/>
                <Measures choices/>
                <Gram choices/>
                <Backend choices/>
            </div>
        </details>
    }
}

/// A whole number, kept as typed.
#[component]
fn Number(
    choices: Choices,
    id: &'static str,
    name: &'static str,
    meaning: &'static str,
    field: fn(&mut Form) -> &mut String,
) -> impl IntoView {
    let value = move || choices.form.with(|form| field(&mut form.clone()).clone());
    let change = move |event| choices.form.update(|form| *field(form) = event_target_value(&event));
    let note = format!("{id}-note");
    view! {
        <label for=id>{name}</label>
        <input
            id=id data-testid=id type="text" inputmode="numeric" autocomplete="off" aria-describedby=note.clone()
            prop:value=value on:input=change
        />
        <p class="note" id=note>{meaning}</p>
    }
}

/// The text that perplexity is measured on.
#[component]
fn Evaluated(choices: Choices) -> impl IntoView {
    let chosen = Memo::new(move |_| choices.form.with(|form| form.eval.clone()));
    let offered: Vec<(TextChoice, String)> = offered_evals();
    let values = offered.clone();
    let change = move |event| {
        let at: Option<usize> = event_target_value(&event).parse().ok();
        let choice = at.and_then(|at| values.get(at)).map(|(choice, _)| choice.clone());
        choices.form.update(|form| form.eval = choice);
    };
    let option = |(at, (choice, title)): (usize, (TextChoice, String))| {
        let is_chosen = move || chosen.with(|chosen| chosen.as_ref() == Some(&choice));
        view! { <option value=at selected=is_chosen>{title}</option> }
    };
    view! {
        <label for="eval">{t().eval}</label>
        <select id="eval" data-testid="eval" aria-describedby="eval-note" on:change=change>
            <option value="" selected=move || chosen.with(Option::is_none)>{t().eval_heldout}</option>
            {offered.into_iter().enumerate().map(option).collect_view()}
        </select>
        <p class="note" id="eval-note">{t().eval_meaning}</p>
    }
}

/// Fills in the protocol of the first paper's survey, and shows R² as it has it.
fn survey(session: Session) {
    session.choices.form.update(Form::choose_survey);
    session.compared.metric.set(Metric::Scalar);
}

/// Fills in the windows of the second paper's notebook, and asks for the measure that it took.
fn notebook(session: Session) {
    session.choices.form.update(|form| {
        let gram = form.gram;
        form.set_protocol(&Protocol { gram, ..Protocol::of_notebook() });
        form.measures.insert(Measure::Layers);
    });
}

/// A button that fills in the protocol of a paper.
#[component]
fn PaperProtocol(
    session: Session,
    id: &'static str,
    name: &'static str,
    meaning: &'static str,
    fill_in: fn(Session),
) -> impl IntoView {
    let note = format!("{id}-note");
    view! {
        <button type="button" data-testid=id aria-describedby=note.clone() on:click=move |_| fill_in(session)>{name}</button>
        <p class="note" id=note>{meaning}</p>
    }
}

/// A choice between yes and no.
#[component]
fn Switch(
    choices: Choices,
    id: &'static str,
    name: &'static str,
    meaning: &'static str,
    field: fn(&mut Form) -> &mut bool,
) -> impl IntoView {
    let is_on = move || choices.form.with(|form| *field(&mut form.clone()));
    let change = move |event| choices.form.update(|form| *field(form) = event_target_checked(&event));
    let note = format!("{id}-note");
    view! {
        <label>
            <input
                type="checkbox" data-testid=id prop:checked=is_on on:change=change aria-describedby=note.clone()
            />
            {name}
        </label>
        <p class="note" id=note>{meaning}</p>
    }
}

/// Measures beyond the fit; views can add missing ones later.
#[component]
fn Measures(choices: Choices) -> impl IntoView {
    let choice = |measure: Measure| {
        let change = move |event| {
            let is_checked = event_target_checked(&event);
            choices.form.update(|form| {
                if is_checked {
                    form.measures.insert(measure)
                } else {
                    form.measures.remove(&measure)
                };
            });
        };
        let is_checked = move || choices.form.with(|form| form.measures.contains(&measure));
        let note = format!("measures-{measure}-note");
        view! {
            <label>
                <input
                    type="checkbox" data-testid=format!("measures-{measure}") prop:checked=is_checked on:change=change
                    aria-describedby=note.clone()
                />
                {views::name(measure)}
            </label>
            <p class="note" id=note>{views::question(measure)}</p>
        }
    };
    let others = Measure::ALL.into_iter().filter(|measure| *measure != Measure::Fit);
    view! {
        <fieldset class="measures">
            <legend>{t().measures}</legend>
            {others.map(choice).collect_view()}
        </fieldset>
    }
}

#[component]
fn Gram(choices: Choices) -> impl IntoView {
    let change = move |event| {
        let chosen = event_target_value(&event).parse().unwrap_or_default();
        choices.form.update(|form| form.gram = chosen);
    };
    let is = move |mode: GramMode| choices.form.with(|form| form.gram == mode);
    view! {
        <label for="gram">{t().gram}</label>
        <select id="gram" data-testid="gram" on:change=change>
            <option value="exact" selected=move || is(GramMode::Exact)>{t().gram_exact}</option>
            <option value="fast" selected=move || is(GramMode::Fast)>{t().gram_fast}</option>
        </select>
    }
}

#[component]
fn Backend(choices: Choices) -> impl IntoView {
    let change = move |event| {
        let chosen = event_target_value(&event).parse().unwrap_or_default();
        choices.form.update(|form| form.backend = chosen);
    };
    let is = move |backend: BackendChoice| choices.form.with(|form| form.backend == backend);
    view! {
        <label for="backend">{t().backend}</label>
        <select id="backend" data-testid="backend" on:change=change>
            <option value="auto" selected=move || is(BackendChoice::Auto)>{t().backend_auto}</option>
            <option value="gpu" selected=move || is(BackendChoice::Gpu)>{t().backend_gpu}</option>
            <option value="cpu" selected=move || is(BackendChoice::Cpu)>{t().backend_cpu}</option>
        </select>
    }
}
