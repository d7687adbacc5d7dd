//! Models and texts on the hub: fetched by the engine, kept in the browser's file system, or as blobs if that is full.

use std::rc::Rc;

use straightedge::hub::client::Hub;
use straightedge::hub::fallback::Fallback;
use straightedge::hub::files::HubFiles;
use straightedge::hub::store::Store;
use straightedge::hub::text::WikiText2;
use straightedge::hub::visit::HubVisit;
use straightedge::weights::Listener;
use straightedge_api::error::{Error, Result};
use straightedge_api::event::Event;
use straightedge_api::hub::id::{Endpoint, HubId};
use straightedge_api::hub::preflight::{Capacity, Preflight};
use straightedge_api::job::{BackendChoice, Job};
use straightedge_api::report::{Warning, WarningKind};

use super::blobs::Blobs;
use super::http::FetchHttp;
use super::opfs::Opfs;
use super::parquet::ParquetModule;
use super::storage;

thread_local! {
    /// Downloads that did not fit on disk last as long as the worker.
    static BLOBS: Rc<Blobs> = Rc::default();
    /// What the hub has answered since the page was opened.
    static VISIT: Rc<HubVisit> = Rc::default();
}

/// The files of a model.
pub(super) async fn open(id: &HubId, endpoint: Endpoint, listener: &Listener) -> Result<HubFiles> {
    hub(endpoint, listener).await.open(id).await
}

/// The cost of a model.
pub(super) async fn preflight(id: &HubId, endpoint: Endpoint, job: &Job, listener: &Listener) -> Result<Preflight> {
    open(id, endpoint, listener).await?.preflight(job, &capacity(job).await).await
}

/// A text by its name in reports.
pub(super) async fn text(name: &str, endpoint: Endpoint, listener: &Listener) -> Result<Vec<u8>> {
    let (_, text) = hub(endpoint, listener).await.wikitext(part(name)?, &ParquetModule).await?;
    Ok(text)
}

/// Whether a text is already stored.
pub(super) async fn holds_text(name: &str, endpoint: Endpoint, listener: &Listener) -> Result<bool> {
    hub(endpoint, listener).await.holds_wikitext(part(name)?).await
}

fn part(name: &str) -> Result<WikiText2> {
    WikiText2::named(name).ok_or_else(|| Error::InvalidSetting {
        field: "text".into(),
        value: name.into(),
        hint: format!("texts on the hub are {}", WikiText2::ALL.map(|part| part.to_string()).join(", ")),
    })
}

async fn hub(endpoint: Endpoint, listener: &Listener) -> Hub {
    let blobs = BLOBS.with(Rc::clone);
    let store: Rc<dyn Store> = match Opfs::open().await {
        Ok(opfs) => Rc::new(Fallback::with(Rc::new(opfs), blobs)),
        Err(error) => {
            let kind = WarningKind::NoStorage { why: error.to_string() };
            listener(Event::Warning(Warning::new(&kind)));
            blobs
        }
    };
    let hub = Hub::within(VISIT.with(Rc::clone), Rc::new(FetchHttp), store, endpoint);
    hub.listen(listener.clone());
    hub
}

/// The capacity of this browser.
async fn capacity(job: &Job) -> Capacity {
    let capacity = Capacity { storage: storage::free_bytes().await, ..Capacity::default() };
    let gpu = if job.backend == BackendChoice::Cpu { None } else { straightedge::backend::gpu::probe().await.ok() };
    match gpu.filter(|found| job.backend == BackendChoice::Gpu || !found.is_software) {
        Some(found) => {
            let limit = |name: &str| found.info.limits.get(name).copied();
            Capacity { buffer: limit("maxBufferSize"), binding: limit("maxStorageBufferBindingSize"), ..capacity }
        }
        None => capacity,
    }
}
