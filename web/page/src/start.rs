//! The initial data of the page, gathered before any signal exists, so that the live page starts like the pre-rendered
//! one and replaces it unnoticed.

use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::recorded_texts::RecordedTexts;
use straightedge_api::report::Report;
use straightedge_web::state::views::View;
use straightedge_web::url::address::Address;
use straightedge_web::url::finding::Shared;

/// Everything the first view shows.
pub(crate) struct Start {
    /// The configuration in the page's address.
    pub(crate) address: Address,
    /// Its values that could not be read.
    pub(crate) refused: Vec<Error>,
    /// The result that the link shares.
    pub(crate) shared: Option<Shared>,
    /// Bundled models.
    pub(crate) index: Vec<Bundled>,
    /// The recorded report of the initial model.
    pub(crate) recording: Option<Report>,
    /// Its recorded continuations, if the page opens on them.
    pub(crate) texts: Option<RecordedTexts>,
    /// Error of what could not be loaded.
    pub(crate) missing: Option<Error>,
}

/// The initial data for pre-rendering a view, with nothing else in the address.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn written(view: View) -> Result<Start> {
    let malformed =
        |file: &str, why: serde_json::Error| Error::MalformedJson { file: file.into(), why: why.to_string() };
    let index = serde_json::from_str(include_str!("../../models/index.json"));
    let texts = || serde_json::from_str(include_str!("../../data/continuations/demo-gpt2.json"));
    let recording = Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json"))?;
    Ok(Start {
        address: Address { view, ..Address::opening() },
        refused: Vec::new(),
        shared: None,
        index: index.map_err(|why| malformed(straightedge_web::state::bundled::INDEX, why))?,
        recording: Some(recording),
        texts: (view == View::Continuation).then(texts).transpose().map_err(|why| malformed("demo-gpt2.json", why))?,
        missing: None,
    })
}

/// A file of the site that the page works without.
#[cfg(target_arch = "wasm32")]
async fn optional<T: serde::de::DeserializeOwned>(path: Option<String>) -> Option<T> {
    straightedge_web::browser::fetch::json(&path?).await.ok()
}

/// The initial data, fetched from the site.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn fetched() -> Start {
    use futures::future::join;
    use straightedge_web::browser::fetch;
    use straightedge_web::continuation::recorded_path;
    use straightedge_web::state::bundled::INDEX;
    use straightedge_web::state::recordings::{FIRST, recording};
    use straightedge_web::text::engine::name_models;
    use straightedge_web::url::address::Read;
    use straightedge_web::url::finding;

    let Read { address, refused } = crate::permalink::address();
    let untranslated = crate::language::choose(address.language).await.err();
    let fragment = Some(crate::permalink::fragment()).filter(|fragment| finding::is_finding(fragment));
    let shared = fragment.map(Shared::Fragment).or_else(|| address.report.clone().map(Shared::Report));
    let address = if shared.is_some() && address.is_opening() { Address::default() } else { address };
    let index: Result<Vec<Bundled>> = fetch::json(INDEX).await;
    let (mut index, missing) = match index {
        Ok(index) => (index, untranslated),
        Err(error) => (Vec::new(), Some(error)),
    };
    name_models(&mut index);
    let first = index.iter().find(|bundled| bundled.name == FIRST).and_then(recording);
    let texts = (address.view == View::Continuation).then(|| recorded_path(FIRST));
    let (recording, texts) = match address.is_first() {
        true => join(optional(first), optional(texts)).await,
        false => (None, None),
    };
    Start { address, refused, shared, index, recording, texts, missing }
}
