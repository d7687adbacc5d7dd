//! The initial data of the page, gathered before any signal exists, so that the live page starts like the pre-rendered
//! one and replaces it unnoticed.

use straightedge_api::atlas::Index;
use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::recorded_texts::RecordedTexts;
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;
use straightedge_web::comparison::published::Published;
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
    /// What can be compared, if the page opens on a comparison.
    pub(crate) comparable: Option<Comparable>,
    /// Error of what could not be loaded.
    pub(crate) missing: Option<Error>,
}

/// Measurements that can be compared before anything is measured here.
pub(crate) struct Comparable {
    /// Recordings of the bundled models.
    pub(crate) recorded: Vec<Summary>,
    /// Published values.
    pub(crate) published: Published,
    /// Models measured with this build.
    pub(crate) atlas: Index,
}

/// The links whose views are pre-rendered, by name: every view, and every ready comparison. `early.js` makes the same
/// names.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn links() -> impl Iterator<Item = (String, Address)> {
    use straightedge_web::comparison::presets::Preset;
    use straightedge_web::url::comparison::Linked;

    let views = View::ALL.map(|view| (view.id().into(), Address { view, ..Address::default() }));
    let presets = Preset::ALL.into_iter().chain(Preset::PAPER).map(|preset| {
        let comparison = Linked { preset: Some(preset), ..Linked::default() };
        let name = format!("{}-{}", View::Compare.id(), preset.id());
        (name, Address { view: View::Compare, comparison, ..Address::default() })
    });
    views.into_iter().chain(presets)
}

/// The initial data for pre-rendering what a link opens.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn written(address: Address, atlas: &Index) -> Result<Start> {
    use straightedge_web::comparison::published::PUBLISHED;
    use straightedge_web::comparison::sources::RECORDED;
    use straightedge_web::state::bundled::INDEX;

    let texts = || read("demo-gpt2.json", include_str!("../../data/continuations/demo-gpt2.json"));
    let comparable = || {
        Ok(Comparable {
            recorded: read(RECORDED, include_str!("../../data/recorded/index.json"))?,
            published: read(PUBLISHED, include_str!("../../data/published.json"))?,
            atlas: atlas.clone(),
        })
    };
    Ok(Start {
        refused: Vec::new(),
        shared: None,
        index: read(INDEX, include_str!("../../models/index.json"))?,
        recording: Some(Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json"))?),
        texts: (address.view == View::Continuation).then(texts).transpose()?,
        comparable: (address.view == View::Compare).then(comparable).transpose()?,
        missing: None,
        address,
    })
}

/// The content of a file of the site.
#[cfg(not(target_arch = "wasm32"))]
fn read<T: serde::de::DeserializeOwned>(file: &str, json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|why| Error::MalformedJson { file: file.into(), why: why.to_string() })
}

/// A file of the site that the page works without.
#[cfg(target_arch = "wasm32")]
async fn optional<T: serde::de::DeserializeOwned>(path: Option<String>) -> Option<T> {
    straightedge_web::browser::fetch::json(&path?).await.ok()
}

/// What can be compared; if a file of it is missing, the comparison asks again and says so.
#[cfg(target_arch = "wasm32")]
async fn comparable() -> Option<Comparable> {
    use straightedge_web::browser::fetch::json;
    use straightedge_web::comparison::atlas::ATLAS;
    use straightedge_web::comparison::published::PUBLISHED;
    use straightedge_web::comparison::sources::RECORDED;

    let files = futures::future::try_join3(json(RECORDED), json(PUBLISHED), json(ATLAS)).await;
    files.ok().map(|(recorded, published, atlas)| Comparable { recorded, published, atlas })
}

/// The initial data, fetched from the site.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn fetched() -> Start {
    use futures::future::{OptionFuture, join3};
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
    let opens = |view| address.is_first() && address.view == view;
    let first = index.iter().find(|bundled| bundled.name == FIRST && address.is_first()).and_then(recording);
    let texts = opens(View::Continuation).then(|| recorded_path(FIRST));
    let comparable = OptionFuture::from(opens(View::Compare).then(comparable));
    let (recording, texts, comparable) = join3(optional(first), optional(texts), comparable).await;
    Start { address, refused, shared, index, recording, texts, comparable: comparable.flatten(), missing }
}
