//! The initial data of the page, gathered before any signal exists, so that the live page starts like the pre-rendered
//! one and replaces it unnoticed.

use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::report::Report;
use straightedge_web::url::address::Address;

/// Everything the first view shows.
pub(crate) struct Start {
    /// The page's address.
    pub(crate) address: Result<Address>,
    /// Bundled models.
    pub(crate) index: Vec<Bundled>,
    /// The recorded report of the initial model.
    pub(crate) recording: Option<Report>,
    /// Error of what could not be loaded.
    pub(crate) missing: Option<Error>,
}

/// The initial data for pre-rendering index.html, with nothing in the address.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn written() -> Result<Start> {
    let malformed =
        |file: &str, why: serde_json::Error| Error::MalformedJson { file: file.into(), why: why.to_string() };
    let index = serde_json::from_str(include_str!("../../models/index.json"));
    let recording = Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json"))?;
    Ok(Start {
        address: Ok(Address::default()),
        index: index.map_err(|why| malformed(straightedge_web::state::bundled::INDEX, why))?,
        recording: Some(recording),
        missing: None,
    })
}

/// The initial data, fetched from the site.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn fetched() -> Start {
    use straightedge_web::browser::fetch;
    use straightedge_web::state::bundled::INDEX;
    use straightedge_web::state::recordings::{FIRST, recording};

    let address = crate::permalink::address();
    let index: Result<Vec<Bundled>> = fetch::json(INDEX).await;
    let (index, missing) = match index {
        Ok(index) => (index, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let first = index.iter().find(|bundled| bundled.name == FIRST).and_then(recording);
    let opens_on_it = address.as_ref().map_or(true, |address| address.is_first());
    let recording = match first.filter(|_| opens_on_it) {
        // The page works without a recording, too.
        Some(path) => fetch::json(&path).await.ok(),
        None => None,
    };
    Start { address, index, recording, missing }
}
