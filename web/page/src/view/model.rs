//! The choice of a model: a bundled one, one on the hub, the user's files, or captured rows.

use leptos::attr::custom::custom_attribute;
use leptos::prelude::*;
use straightedge_web::state::form::{ModelChoice as Choice, PUBLISHED};
use straightedge_web::text::format::{bytes, count};
use straightedge_web::text::{fill, t};

use super::hub::{HubId, ModelPreview};
use crate::picked::{Picked, from_list};
use crate::session::{Choices, Session};

/// Option values that no bundled model has: a folder name cannot contain a colon.
const OWN: &str = ":own";
const ROWS: &str = ":rows";
const OTHER: &str = ":hub";
/// Prefix of the id of a published model.
const HUB: &str = ":hub:";

/// Choice of the model.
#[component]
pub(crate) fn ModelChoice(session: Session) -> impl IntoView {
    let choose = move |event| match event_target_value(&event).as_str() {
        OWN => session.choose_own(Choice::Local),
        ROWS => session.choose_own(Choice::Rows),
        OTHER => session.choose_hub(""),
        name => match name.strip_prefix(HUB) {
            Some(id) => session.choose_hub(id),
            None => session.choose_bundled(name),
        },
    };
    let choice = Memo::new(move |_| session.choices.form.with(|form| form.model.clone()));
    let is_own = move || choice.with(|choice| *choice == Choice::Local);
    let is_rows = move || choice.with(|choice| *choice == Choice::Rows);
    let is_hub = move || choice.with(|choice| matches!(choice, Choice::Hub(_)));
    let is_other = move || choice.with(|choice| matches!(choice, Choice::Hub(id) if !is_published(id)));
    let is_loaded = move || session.choices.index.with(Option::is_some);
    let bundled = move || {
        let options = session.choices.index.get().unwrap_or_default().into_iter().map(|bundled| {
            let own = Choice::Bundled(bundled.name.clone());
            let is_chosen = move || choice.with(|choice| *choice == own);
            view! { <option value=bundled.name selected=is_chosen>{bundled.title}</option> }
        });
        options.collect_view()
    };
    let published = PUBLISHED.map(|(id, name)| {
        let is_chosen = move || choice.with(|choice| matches!(choice, Choice::Hub(chosen) if chosen == id));
        view! { <option value=format!("{HUB}{id}") selected=is_chosen>{name}</option> }
    });
    view! {
        <fieldset>
            <label class="title" for="model">{t().model}</label>
            <select id="model" data-testid="model-select" on:change=choose aria-describedby="model-note">
                <optgroup label=t().model_group_bundled>{bundled}</optgroup>
                <optgroup label=t().model_group_hub>
                    {published.collect_view()}
                    <option value=OTHER selected=is_other>{t().model_hub}</option>
                </optgroup>
                <optgroup label=t().model_group_local>
                    <option value=OWN selected=move || is_own() && is_loaded()>{t().model_own}</option>
                    <option value=ROWS selected=is_rows>{t().model_rows}</option>
                </optgroup>
            </select>
            <Show when=is_other><HubId session/></Show>
            <Show when=is_own>
                <div class="pickers">
                    <FilePicker session folder=true/>
                    <FilePicker session folder=false/>
                </div>
            </Show>
            <Show when=move || is_other() || is_own()><Tokenizer choices=session.choices/></Show>
            <Show when=is_rows><RowsPicker session/></Show>
            <p class="note" id="model-note" data-testid="model-note">{move || note(session.choices)}</p>
            <Show when=is_hub><ModelPreview choices=session.choices/></Show>
        </fieldset>
    }
}

fn is_published(id: &str) -> bool {
    PUBLISHED.iter().any(|(known, _)| *known == id)
}

/// Chooses a folder or single files.
#[component]
fn FilePicker(session: Session, folder: bool) -> impl IntoView {
    let (name, id) = if folder { (t().model_folder, "model-folder") } else { (t().model_files, "model-files") };
    let take = move |picked| session.take(picked);
    let whole_folder = custom_attribute("webkitdirectory", folder.then_some(""));
    view! {
        <label class="button">
            <input type="file" class="unseen" data-testid=id multiple on:change=on_pick(take) {..whole_folder}/>
            {name}
        </label>
    }
}

/// The model on the hub whose tokenizer is used in place of the model's own.
#[component]
fn Tokenizer(choices: Choices) -> impl IntoView {
    let typed = move || choices.form.with(|form| form.tokenizer.clone());
    let change = move |event| {
        let name = event_target_value(&event).trim().to_owned();
        choices.form.update(|form| form.tokenizer = name);
    };
    view! {
        <label for="tokenizer">{t().tokenizer}</label>
        <input
            id="tokenizer" type="text" data-testid="tokenizer" autocomplete="off" autocapitalize="off" spellcheck="false"
            placeholder=t().tokenizer_own aria-describedby="tokenizer-note" prop:value=typed on:change=change
        />
        <p class="note" id="tokenizer-note">{t().tokenizer_hint}</p>
    }
}

/// Chooses a file of rows.
#[component]
fn RowsPicker(session: Session) -> impl IntoView {
    let take = on_pick(move |mut picked| session.take_rows(picked.swap_remove(0)));
    view! {
        <label class="button">
            <input type="file" class="unseen" data-testid="rows-file" accept=".safetensors" on:change=take/>
            {t().model_rows_choose}
        </label>
    }
}

/// Passes on the picked files and clears the input, so that the same files can be picked again.
pub(super) fn on_pick(take: impl Fn(Vec<Picked>) + 'static) -> impl Fn(leptos::ev::Event) + 'static {
    move |event| {
        let input: web_sys::HtmlInputElement = event_target(&event);
        let picked = from_list(input.files());
        input.set_value("");
        if !picked.is_empty() {
            take(picked);
        }
    }
}

fn note(choices: Choices) -> String {
    choices.form.with(|form| match (&form.model, &form.local_model) {
        (Choice::Bundled(name), _) => choices.index.with(|index| {
            let bundled = index.iter().flatten().find(|bundled| bundled.name == *name);
            bundled.map(|bundled| bundled.about.clone()).unwrap_or_default()
        }),
        (Choice::Hub(id), _) if is_published(id) => fill(t().preview_source, &[("id", id)]),
        (Choice::Hub(_), _) => t().model_hub_hint.into(),
        (Choice::Rows, _) => match &form.local_rows {
            Some((name, size)) => fill(t().model_rows_chosen, &[("name", name), ("size", &bytes(*size))]),
            None => t().model_rows_hint.into(),
        },
        (Choice::Local, _) if choices.index.with(Option::is_none) => t().model_loading.into(),
        (Choice::Local, None) => t().model_hint.into(),
        (Choice::Local, Some(local)) => {
            let (files, size) = (count(local.files.len() as u64), bytes(local.bytes));
            fill(t().model_chosen, &[("name", &local.name), ("files", &files), ("size", &size)])
        }
    })
}
