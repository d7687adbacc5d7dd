//! The choice of a text: that of a bundled model, a made one, a pasted one, or a file.

use leptos::prelude::*;
use straightedge::bundled::{DefaultText, MADE_TEXTS};
use straightedge_web::form::TextChoice as Choice;
use straightedge_web::texts::{fill, t};

use super::model::on_pick;
use crate::session::Session;

/// Option values beside the names of bundled models and of made texts.
const PASTED: &str = ":pasted";
const FILE: &str = ":file";

/// Which text.
#[component]
pub(crate) fn TextChoice(session: Session) -> impl IntoView {
    let choice = Memo::new(move |_| session.form.with(|form| form.text.clone()));
    let choose = move |event| {
        let text = match event_target_value(&event).as_str() {
            PASTED => Choice::Pasted,
            FILE => Choice::File,
            name if MADE_TEXTS.contains(&name) => Choice::Made(name.into()),
            name => Choice::Bundled(name.into()),
        };
        session.complaint.set(None);
        session.form.update(|form| form.text = text);
    };
    let bundled = move || {
        let mut files = session.index.get().unwrap_or_default();
        files.retain(|bundled| matches!(bundled.text, DefaultText::File(_)));
        let options = files.into_iter().map(|bundled| {
            let own = Choice::Bundled(bundled.name.clone());
            let title = fill(t().text_own, &[("title", &bundled.title)]);
            view! { <option value=bundled.name selected=move || choice.with(|choice| *choice == own)>{title}</option> }
        });
        options.collect_view()
    };
    let made = MADE_TEXTS.map(|corpus| {
        let own = Choice::Made(corpus.into());
        let title = fill(t().text_made, &[("corpus", corpus)]);
        view! { <option value=corpus selected=move || choice.with(|choice| *choice == own)>{title}</option> }
    });
    let is_pasted = move || choice.with(|choice| *choice == Choice::Pasted);
    let is_file = move || choice.with(|choice| *choice == Choice::File);
    view! {
        <fieldset>
            <label class="title" for="text">{t().text}</label>
            <select id="text" data-testid="text-select" on:change=choose>
                {bundled}
                {made}
                <option value=PASTED selected=is_pasted>{t().text_pasted}</option>
                <option value=FILE selected=is_file>{t().text_file}</option>
            </select>
            <Show when=is_pasted><Pasted session/></Show>
            <Show when=is_file><TextFile session/></Show>
        </fieldset>
    }
}

#[component]
fn Pasted(session: Session) -> impl IntoView {
    let paste = move |event| session.form.update(|form| form.pasted = event_target_value(&event));
    let content = session.form.with_untracked(|form| form.pasted.clone());
    view! {
        <textarea
            data-testid="text-input" rows="5" aria-label=t().text_paste_label placeholder=t().text_paste_label
            aria-describedby="text-note" prop:value=content on:input=paste
        ></textarea>
        <p class="note" id="text-note">{t().text_hint}</p>
    }
}

#[component]
fn TextFile(session: Session) -> impl IntoView {
    let take = on_pick(move |mut picked| session.take_text(picked.swap_remove(0)));
    let note = move || session.form.with(|form| form.local_text.clone()).unwrap_or_else(|| t().text_hint.into());
    view! {
        <label class="button">
            <input type="file" class="unseen" data-testid="text-file" accept=".txt,.md,text/plain" on:change=take/>
            {t().text_choose}
        </label>
        <p class="note">{note}</p>
    }
}
