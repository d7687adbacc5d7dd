//! The tuning cache in the browser's file system, so that a device is tuned only on the first visit.

use straightedge::backend::gpu::autotune;
use straightedge_api::error::Result;

use super::disk::Folder;
use super::probe;

const HOME: &str = "straightedge";
const FILE: &str = "tuning.txt";

/// Passes the browser's device name to the engine, and the results of earlier visits if this browser stores any.
pub(super) async fn load() {
    autotune::name_device(probe::vendor_and_architecture().await);
    if let Ok(home) = home().await
        && let Some(text) = home.read(FILE).await
    {
        autotune::load(&text);
    }
}

/// Saves the results since. Where nothing can be stored, the next visit tunes again.
pub(super) async fn save() {
    if let Some(text) = autotune::to_save() {
        let _ = write(text.as_bytes()).await;
    }
}

async fn home() -> Result<Folder> {
    Folder::root().await?.make(HOME).await
}

async fn write(text: &[u8]) -> Result<()> {
    // An incomplete line matches no kernel and is ignored.
    let (_, writer) = home().await?.create(FILE).await?;
    writer.write(0, text)
}
