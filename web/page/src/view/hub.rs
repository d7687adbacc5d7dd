//! A model on the hub: its name, its preview before the download, and stored downloads.

use leptos::ev::KeyboardEvent;
use leptos::html::Input;
use leptos::prelude::*;
use straightedge_api::message::{Deletion, StoredItem};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::preview;
use straightedge_web::state::run::Run;
use straightedge_web::state::words::on_page;
use straightedge_web::text::format::bytes;
use straightedge_web::text::{fill, t};

use crate::session::{Choices, Session};

/// `ID`, `ID@REVISION` or the address of a page on the hub; looked up when it is complete, not at every letter.
#[component]
pub(super) fn HubId(session: Session) -> impl IntoView {
    let input = NodeRef::<Input>::new();
    let typed = session.choices.form.with_untracked(|form| match &form.model {
        ModelChoice::Hub(typed) => typed.clone(),
        _ => String::new(),
    });
    let preview = move || {
        if let Some(input) = input.get_untracked() {
            session.choose_hub(input.value().trim());
            // The address of a page has become a name.
            if let ModelChoice::Hub(name) = session.choices.form.with_untracked(|form| form.model.clone()) {
                input.set_value(&name);
            }
        }
    };
    let on_enter = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            preview();
        }
    };
    view! {
        <div class="with-button">
            <input
                node_ref=input type="text" data-testid="hub-id" aria-label=t().model_hub_label autocomplete="off"
                autocapitalize="off" spellcheck="false" placeholder="OWNER/NAME" prop:value=typed
                on:change=move |_| preview() on:keydown=on_enter
            />
            <button type="button" data-testid="hub-preview" on:click=move |_| preview()>{t().model_hub_preview}</button>
        </div>
    }
}

/// The preview of the hub model.
#[component]
pub(super) fn ModelPreview(choices: Choices) -> impl IntoView {
    let host = Memo::new(move |_| choices.form.with(|form| form.endpoint().ok().filter(|endpoint| !endpoint.is_hub())));
    let state = move || {
        choices.preview.with(|preview| match &preview.preflight {
            Some(Ok(found)) if !found.can_start() => "refused",
            Some(Ok(_)) => "known",
            Some(Err(_)) => "failed",
            None if preview.is_busy => "previewing",
            None => "unknown",
        })
    };
    let lines = move || {
        let lines = choices.preview.with(|preview| match &preview.preflight {
            Some(Ok(found)) => preview::preflight(found, preview.rate),
            Some(Err(error)) => vec![preview::Sentence { text: on_page(&error.sentence()), is_fatal: true }],
            None if preview.is_busy => vec![preview::Sentence { text: previewing(host.get()), is_fatal: false }],
            None => Vec::new(),
        });
        let line = |line: preview::Sentence| view! { <li class:bad=line.is_fatal>{line.text}</li> };
        lines.into_iter().map(line).collect_view()
    };
    let pinned = move || {
        let pinned = choices.preview.with(|preview| match &preview.preflight {
            Some(Ok(found)) => preview::pinned(found),
            _ => None,
        });
        let host = host.get().map_or_else(|| "huggingface.co".into(), |host| host.to_string());
        [Some(fill(t().preview_private, &[("host", &host)])), pinned]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    };
    view! {
        <div class="preview note" data-testid="preflight" data-state=state aria-live="polite">
            <ul>{lines}</ul>
            <p>{pinned}</p>
        </div>
    }
}

fn previewing(host: Option<straightedge_api::hub::id::Endpoint>) -> String {
    match host {
        Some(host) => fill(t().previewing_mirror, &[("host", &host.to_string())]),
        None => t().previewing_hub.into(),
    }
}

/// Source of models, and stored downloads.
#[component]
pub(crate) fn Downloads(session: Session) -> impl IntoView {
    let summary = Memo::new(move |_| {
        session
            .engine
            .storage
            .with(|report| report.as_ref().map_or_else(|| t().storage_unknown.into(), preview::storage))
    });
    let mirror = move || session.choices.form.with(|form| form.mirror.clone());
    let set_mirror = move |event| session.choices.form.update(|form| form.mirror = event_target_value(&event));
    let stored = Memo::new(move |_| {
        session.engine.storage.with(|report| report.as_ref().map(|report| report.stored.clone()).unwrap_or_default())
    });
    let is_running = Memo::new(move |_| session.results.run.with(Run::is_running));
    let row = move |stored: StoredItem| {
        let (name, shown) = (stored.name.clone(), shortened(&stored.name));
        let delete = move |_| session.request_storage(Deletion::One { name: name.clone() });
        view! {
            <li>
                <span title=stored.name.clone()>{shown}</span>
                <span class="size">{bytes(stored.bytes)}</span>
                <button
                    type="button" aria-label=fill(t().storage_delete_name, &[("name", &stored.name)])
                    disabled=move || is_running.get() on:click=delete
                >
                    {t().storage_delete}
                </button>
            </li>
        }
    };
    view! {
        <details class="fold" data-testid="downloads">
            <summary><span class="title">{t().downloads}</span><span class="note" data-testid="storage-summary">{summary}</span></summary>
            <div class="downloads">
                <ul data-testid="storage-items">{move || stored.get().into_iter().map(row).collect_view()}</ul>
                <Show when=move || stored.with(|stored| !stored.is_empty())>
                    <button
                        type="button" data-testid="storage-clear" disabled=move || is_running.get()
                        on:click=move |_| session.request_storage(Deletion::Everything)
                    >
                        {t().storage_delete_all}
                    </button>
                </Show>
                <label for="mirror">{t().mirror}</label>
                <input
                    id="mirror" data-testid="mirror" type="text" inputmode="url" autocomplete="off" spellcheck="false"
                    placeholder="https://huggingface.co" aria-describedby="mirror-note" prop:value=mirror
                    on:change=set_mirror
                />
                <p class="note" id="mirror-note">{t().mirror_meaning}</p>
            </div>
        </details>
    }
}

/// A name with a shortened commit.
fn shortened(name: &str) -> String {
    match name.split_once('@') {
        Some((id, commit)) => format!("{id} @ {}", commit.get(..7).unwrap_or(commit)),
        None => name.into(),
    }
}
