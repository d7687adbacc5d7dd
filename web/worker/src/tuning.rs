//! The tuning cache in the browser's file system, so that a device is tuned at the first visit.

use straightedge::backend::gpu::autotune;
use straightedge_api::error::Result;

use super::disk::Folder;
use super::probe;

const HOME: &str = "straightedge";
const FILE: &str = "tuning.txt";

/// Tells the engine what the browser calls its device, and what earlier visits found out where this browser keeps
/// anything.
pub(super) async fn recall() {
    autotune::name_device(probe::vendor_and_architecture().await);
    if let Ok(home) = home().await
        && let Some(text) = home.read(FILE).await
    {
        autotune::recall(&text);
    }
}

/// Keeps what was found out since. Where nothing can be kept, the next visit tunes again.
pub(super) async fn keep() {
    if let Some(text) = autotune::to_keep() {
        let _ = write(text.as_bytes()).await;
    }
}

async fn home() -> Result<Folder> {
    Folder::root().await?.make(HOME).await
}

async fn write(text: &[u8]) -> Result<()> {
    // Half a line names nothing that is there, and says nothing.
    let (_, writer) = home().await?.create(FILE).await?;
    writer.write(0, text)
}
