//! Shares the result shown: a link that holds it, a frame for another page, a citation. Each can be copied.

use js_sys::Reflect;
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::citation::bibtex;
use straightedge_web::state::words::on_page;
use straightedge_web::text::fill;
use straightedge_web::text::result::t as r;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, Event};

use crate::permalink::site;
use crate::session::{Session, now};

/// Copies the link that holds the result.
#[component]
pub(crate) fn CopyLink(session: Session) -> impl IntoView {
    let target = Memo::new(move |_| session.shared_link(false).unwrap_or_else(|error| on_page(&error.sentence())));
    let is_there = Memo::new(move |_| session.shared_link(false).is_ok());
    view! {
        <Show when=move || is_there.get()>
            <Copy content=target name=r().share_copy_link id="share-copy"/>
        </Show>
    }
}

/// The fold with everything; absent when embedded, or under a link that hides the other views.
#[component]
pub(crate) fn Share(session: Session) -> impl IntoView {
    let is_there = Memo::new(move |_| {
        let is_plain = session.display.frame.with(|frame| !frame.is_embedded && frame.hidden.is_empty());
        is_plain && session.results.run.with(|run| !run.is_running() && !run.blocks().is_empty())
    });
    // Links and citation are written only while the fold is open.
    let is_open = RwSignal::new(false);
    let toggle = move |event: Event| {
        let fold = event.target().and_then(|fold| fold.dyn_into::<Element>().ok());
        is_open.set(fold.is_some_and(|fold| fold.has_attribute("open")));
    };
    view! {
        <Show when=move || is_there.get()>
            <details class="fold share" data-testid="share" on:toggle=toggle>
                <summary><span class="title">{r().share}</span><span class="note">{r().share_about}</span></summary>
                <Show when=move || is_open.get()><Ways session/></Show>
            </details>
        </Show>
    }
}

#[component]
fn Ways(session: Session) -> impl IntoView {
    let link = Memo::new(move |_| session.shared_link(false).map_err(|error| on_page(&error.sentence())));
    let target = Memo::new(move |_| link.get().unwrap_or_default());
    let note = move || match link.get() {
        Ok(target) if target.contains('#') => r().share_link_note.to_string(),
        Ok(target) if target.contains("report=") => r().share_report_note.into(),
        Ok(_) => r().share_settings_note.into(),
        Err(why) => why,
    };
    let embed = Memo::new(move |_| {
        let target = session.shared_link(true).unwrap_or_default().replace('&', "&amp;").replace('"', "&quot;");
        format!(r#"<iframe src="{target}" width="800" height="520" title="Straightedge"></iframe>"#)
    });
    let cite = Memo::new(move |_| {
        let link = target.get();
        session.results.run.with(|run| run.report().map(|report| bibtex(report, &site(), &link, &now())))
    });
    let cite = Memo::new(move |_| cite.get().unwrap_or_default());
    view! {
        <div class="ways">
            <Way content=target name=r().share_link id="share-link" rows="1"/>
            <p class="note" data-testid="share-note">{note}</p>
            <Way content=embed name=r().share_embed id="share-embed" rows="2"/>
            <Way content=cite name=r().share_cite id="share-cite" rows="6"/>
        </div>
    }
}

/// A text to copy, and its button.
#[component]
fn Way(content: Memo<String>, name: &'static str, id: &'static str, rows: &'static str) -> impl IntoView {
    view! {
        <label for=id>{name}</label>
        <textarea id=id data-testid=id rows=rows readonly wrap="off" spellcheck="false" prop:value=content></textarea>
        <Copy content name=r().share_copy id=format!("{id}-copy") of=name/>
    }
}

/// A button that copies a text and says whether it did; `of` names the text.
#[component]
fn Copy(
    content: Memo<String>,
    name: &'static str,
    #[prop(into)] id: String,
    #[prop(optional)] of: &'static str,
) -> impl IntoView {
    let is_copied = RwSignal::new(None::<bool>);
    Effect::new(move |_| {
        content.track();
        is_copied.set(None);
    });
    let copy = move |_| {
        spawn_local(async move {
            let copied = copied(&content.get_untracked()).await;
            // The button may be gone by then.
            let _ = is_copied.try_set(Some(copied.is_some()));
        });
    };
    let label = move || match is_copied.get() {
        None => name,
        Some(true) => r().share_copied,
        Some(false) => r().share_not_copied,
    };
    let full = move || (!of.is_empty()).then(|| fill(r().share_copy_name, &[("label", label()), ("name", of)]));
    view! {
        <button type="button" class="button" data-testid=id aria-label=full aria-live="polite" on:click=copy>{label}</button>
    }
}

/// Copies a text; `None` if the browser has no clipboard here or refuses.
async fn copied(text: &str) -> Option<()> {
    let navigator = window().navigator();
    // Pages from plain http have none.
    Reflect::get(&navigator, &"clipboard".into()).ok().filter(JsValue::is_object)?;
    JsFuture::from(navigator.clipboard().write_text(text)).await.ok().map(drop)
}
