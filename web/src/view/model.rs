//! The choice of a model: a bundled one, or files of the user.

use leptos::attr::custom::custom_attribute;
use leptos::prelude::*;
use straightedge_web::form::ModelChoice as Choice;
use straightedge_web::format::{bytes, count};
use straightedge_web::texts::{fill, t};

use crate::picked::{Picked, from_list};
use crate::session::Session;

/// Option value of the user's own model; a folder name cannot hold a colon.
const OWN: &str = ":own";

/// Which model.
#[component]
pub(crate) fn ModelChoice(session: Session) -> impl IntoView {
    let choose = move |event| match event_target_value(&event).as_str() {
        OWN => session.choose_local(),
        name => session.choose_bundled(name),
    };
    let is_own = Memo::new(move |_| session.form.with(|form| form.model == Choice::Local));
    let is_loaded = move || session.index.with(Option::is_some);
    let bundled = move || {
        let options = session.index.get().unwrap_or_default().into_iter().map(|bundled| {
            let choice = Choice::Bundled(bundled.name.clone());
            let is_chosen = move || session.form.with(|form| form.model == choice);
            view! { <option value=bundled.name selected=is_chosen>{bundled.title}</option> }
        });
        options.collect_view()
    };
    view! {
        <fieldset>
            <label class="title" for="model">{t().model}</label>
            <select id="model" data-testid="model-select" on:change=choose aria-describedby="model-note">
                {bundled}
                <option value=OWN selected=move || is_own.get() && is_loaded()>{t().model_own}</option>
            </select>
            <Show when=move || is_own.get()>
                <div class="pickers">
                    <FilePicker session folder=true/>
                    <FilePicker session folder=false/>
                </div>
            </Show>
            <p class="note" id="model-note" data-testid="model-note">{move || note(session)}</p>
        </fieldset>
    }
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

/// Hands over what was picked, and forgets it, so that the same files can be picked again.
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

fn note(session: Session) -> String {
    session.form.with(|form| match (&form.model, &form.local_model) {
        (Choice::Bundled(name), _) => session.index.with(|index| {
            let bundled = index.iter().flatten().find(|bundled| bundled.name == *name);
            bundled.map(|bundled| bundled.about.clone()).unwrap_or_default()
        }),
        (Choice::Local, _) if session.index.with(Option::is_none) => t().model_loading.into(),
        (Choice::Local, None) => t().model_hint.into(),
        (Choice::Local, Some(local)) => {
            let (files, size) = (count(local.files.len() as u64), bytes(local.bytes));
            fill(t().model_chosen, &[("name", &local.name), ("files", &files), ("size", &size)])
        }
    })
}
