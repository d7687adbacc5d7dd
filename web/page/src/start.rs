//! What the page opens on, gathered before there is a signal: so the page that runs begins as the one that was written
//! beforehand, and takes its place unseen.

use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::report::Report;
use straightedge_web::url::address::Address;

/// Everything that the first view shows.
pub(crate) struct Start {
    /// What the page's address asks for.
    pub(crate) address: Address,
    /// What it says that could not be read.
    pub(crate) refused: Vec<Error>,
    /// Bundled models.
    pub(crate) index: Vec<Bundled>,
    /// The recorded report of the model that is chosen at first.
    pub(crate) recording: Option<Report>,
    /// What could not be had.
    pub(crate) missing: Option<Error>,
}

/// As the page is written into index.html: what it opens on without anything in its address.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn written() -> Result<Start> {
    let malformed =
        |file: &str, why: serde_json::Error| Error::MalformedJson { file: file.into(), why: why.to_string() };
    let index = serde_json::from_str(include_str!("../../models/index.json"));
    let recording = Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json"))?;
    Ok(Start {
        address: Address::default(),
        refused: Vec::new(),
        index: index.map_err(|why| malformed(straightedge_web::state::bundled::INDEX, why))?,
        recording: Some(recording),
        missing: None,
    })
}

/// Fetched from the site.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn fetched() -> Start {
    use straightedge_web::browser::fetch;
    use straightedge_web::state::bundled::INDEX;
    use straightedge_web::state::recordings::{FIRST, recording};
    use straightedge_web::url::address::Read;

    let Read { address, refused } = crate::permalink::address();
    let index: Result<Vec<Bundled>> = fetch::json(INDEX).await;
    let (index, missing) = match index {
        Ok(index) => (index, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let first = index.iter().find(|bundled| bundled.name == FIRST).and_then(recording);
    let recording = match first.filter(|_| address.is_first()) {
        // The chart without a recording is a page that still works.
        Some(path) => fetch::json(&path).await.ok(),
        None => None,
    };
    Start { address, refused, index, recording, missing }
}
