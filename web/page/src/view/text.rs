//! The choice of a text: bundled, generated, from the hub, pasted, or a file.

use leptos::prelude::*;
use straightedge_api::bundled::{DefaultText, SYNTHETIC_TEXTS};
use straightedge_api::error::Error;
use straightedge_web::state::form::{ModelChoice, TextChoice as Choice, WIKITEXT};
use straightedge_web::state::preview;
use straightedge_web::state::words::on_page;
use straightedge_web::text::format::amount;
use straightedge_web::text::{fill, t};

use super::model::on_pick;
use crate::session::Choices;

/// Option values in addition to the names of bundled models and generated texts.
const PASTED: &str = ":pasted";
const FILE: &str = ":file";
/// Prefix of the name of a text on the hub.
const HUB: &str = ":hub:";

/// Choice of the text; captured rows have none.
#[component]
pub(crate) fn TextChoice(choices: Choices) -> impl IntoView {
    let is_rows = Memo::new(move |_| choices.form.with(|form| form.model == ModelChoice::Rows));
    view! {
        <Show when=move || !is_rows.get()><Text choices/></Show>
        <CorpusSize choices/>
    }
}

/// Titles of the texts of [`WIKITEXT`].
fn wikitext_titles() -> [&'static str; 3] {
    [t().text_wikitext_test, t().text_wikitext_validation, t().text_wikitext_train]
}

/// Texts that perplexity can be measured on, with their titles.
pub(super) fn offered_evals() -> Vec<(Choice, String)> {
    let synthetic =
        SYNTHETIC_TEXTS.map(|corpus| (Choice::Synthetic(corpus.into()), fill(t().text_made, &[("corpus", corpus)])));
    let wikitext = WIKITEXT.into_iter().zip(wikitext_titles());
    synthetic.into_iter().chain(wikitext.map(|(name, title)| (Choice::Hub(name.into()), title.into()))).collect()
}

#[component]
fn Text(choices: Choices) -> impl IntoView {
    let choice = Memo::new(move |_| choices.form.with(|form| form.text.clone()));
    let choose = move |event| {
        let value = event_target_value(&event);
        let text = match value.as_str() {
            PASTED => Choice::Pasted,
            FILE => Choice::File,
            name if SYNTHETIC_TEXTS.contains(&name) => Choice::Synthetic(name.into()),
            name => match name.strip_prefix(HUB) {
                Some(name) => Choice::Hub(name.into()),
                None => Choice::Bundled(name.into()),
            },
        };
        choices.complaint.set(None);
        choices.form.update(|form| form.text = text);
    };
    let option = move |value: String, own: Choice, title: String| {
        view! { <option value=value selected=move || choice.with(|choice| *choice == own)>{title}</option> }
    };
    let bundled = move || {
        let mut files = choices.index.get().unwrap_or_default();
        files.retain(|bundled| matches!(bundled.text, DefaultText::File(_)));
        let options = files.into_iter().map(|bundled| {
            let title = fill(t().text_own, &[("title", &bundled.title)]);
            option(bundled.name.clone(), Choice::Bundled(bundled.name), title)
        });
        options.collect_view()
    };
    let synthetic = SYNTHETIC_TEXTS.map(|corpus| {
        option(corpus.into(), Choice::Synthetic(corpus.into()), fill(t().text_made, &[("corpus", corpus)]))
    });
    let wikitext = WIKITEXT
        .iter()
        .zip(wikitext_titles())
        .map(|(name, title)| option(format!("{HUB}{name}"), Choice::Hub((*name).into()), title.into()));
    let wikitext: Vec<_> = wikitext.collect();
    let is_pasted = move || choice.with(|choice| *choice == Choice::Pasted);
    let is_file = move || choice.with(|choice| *choice == Choice::File);
    let note = move || match choice.get() {
        Choice::Synthetic(_) => t().text_made_note,
        Choice::Hub(_) => t().text_wikitext_note,
        _ => "",
    };
    view! {
        <fieldset>
            <label class="title" for="text">{t().text}</label>
            <select id="text" data-testid="text-select" on:change=choose>
                <optgroup label=t().text_group_bundled>{bundled}{synthetic.collect_view()}</optgroup>
                <optgroup label=t().text_group_hub>{wikitext.collect_view()}</optgroup>
                <optgroup label=t().text_group_own>
                    <option value=PASTED selected=is_pasted>{t().text_pasted}</option>
                    <option value=FILE selected=is_file>{t().text_file}</option>
                </optgroup>
            </select>
            <Show when=is_pasted><Pasted choices/></Show>
            <Show when=is_file><TextFile choices/></Show>
            <Show when=move || !note().is_empty()><p class="note">{note}</p></Show>
        </fieldset>
    }
}

#[component]
fn Pasted(choices: Choices) -> impl IntoView {
    let paste = move |event| choices.form.update(|form| form.pasted = event_target_value(&event));
    let content = choices.form.with_untracked(|form| form.pasted.clone());
    view! {
        <textarea
            data-testid="text-input" rows="5" aria-label=t().text_paste_label placeholder=t().text_paste_label
            aria-describedby="text-note" prop:value=content on:input=paste
        ></textarea>
        <p class="note" id="text-note">{t().text_hint}</p>
    }
}

#[component]
fn TextFile(choices: Choices) -> impl IntoView {
    let take = on_pick(move |mut picked| choices.take_text(picked.swap_remove(0)));
    let note = move || {
        let name = choices.form.with(|form| form.local_text.clone());
        name.map_or_else(|| t().text_hint.into(), |name| fill(t().text_chosen, &[("name", &name)]))
    };
    view! {
        <label class="button">
            <input type="file" class="unseen" data-testid="text-file" accept=".txt,.md,text/plain" on:change=take/>
            {t().text_choose}
        </label>
        <p class="note">{note}</p>
    }
}

/// The rows that the text yields, compared with those requested, before anything is measured.
#[component]
fn CorpusSize(choices: Choices) -> impl IntoView {
    let line = Memo::new(move |_| {
        let (asked, is_text, is_pasted) = choices.form.with(|form| {
            let rows = form.protocol().map_or(0, |protocol| protocol.rows as u64);
            (rows, form.model != ModelChoice::Rows, form.text == Choice::Pasted)
        });
        choices.preview.with(|preview| {
            match (&preview.extent, preview.progress.filter(|progress| progress.total > 0)) {
                (Some(Ok(extent)), _) => Some(preview::extent(extent, asked, is_text)),
                // An empty paste field is no error.
                (Some(Err(Error::EmptyText { .. })), _) if is_pasted => None,
                (Some(Err(error)), _) => Some(preview::Sentence { text: on_page(&error.sentence()), is_fatal: true }),
                (None, Some(progress)) => Some(preview::Sentence {
                    text: fill(t().extent_progress, &[("done", &amount(&progress))]),
                    is_fatal: false,
                }),
                (None, None) => None,
            }
        })
    });
    let is_fatal = move || line.with(|line| line.as_ref().is_some_and(|line| line.is_fatal));
    view! {
        <Show when=move || line.with(Option::is_some)>
            <p class="note extent" class:bad=is_fatal data-testid="extent" aria-live="polite">
                {move || line.get().map(|line| line.text)}
            </p>
        </Show>
    }
}
