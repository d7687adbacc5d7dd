//! The language of the page: chosen by the link or by the browser, and taken over before anything is drawn.

use leptos::prelude::*;
use straightedge_api::error::Error;
use straightedge_web::browser::fetch;
use straightedge_web::text::language::{Language, language};
use straightedge_web::text::t;
use straightedge_web::text::translation::{Translation, speak};

/// Takes over the language that the link asks for, or the first of the browser's that the page has. If its texts do not
/// arrive, the page stays in English, and the error says so.
pub(crate) async fn choose(requested: Option<Language>) -> Result<(), Error> {
    let tags = window().navigator().languages();
    let chosen = Language::chosen(requested, tags.iter().filter_map(|tag| tag.as_string()));
    let texts = match chosen.file() {
        Some(file) => fetch::json::<Translation>(file).await.map(|texts| speak(chosen, texts)),
        None => Ok(()),
    };
    mark();
    texts
}

/// Sets the language of the document, and translates its texts outside the page's own part.
fn mark() {
    if let Some(root) = document().document_element() {
        // Any element takes this attribute.
        let _ = root.set_attribute("lang", language().id());
    }
    if let Some(licences) = document().query_selector(".foot a[href$='licences.txt']").ok().flatten() {
        licences.set_text_content(Some(t().licences));
    }
}
