//! Which kernels won on which device, kept in the browser's file system, so that a device is raced on at the first visit.

use straightedge::error::Result;
use straightedge::gpu::race;

use super::disk::Folder;

const HOME: &str = "straightedge";
const FILE: &str = "races.json";

/// Tells the engine what earlier visits found out, where this browser keeps anything.
pub(super) async fn recall() {
    if let Ok(home) = home().await
        && let Some(json) = home.read(FILE).await
    {
        race::recall(&json);
    }
}

/// Keeps what was found out since. Where nothing can be kept, the next visit races again.
pub(super) async fn keep() {
    if let Some(json) = race::remembered() {
        let _ = write(&json).await;
    }
}

async fn home() -> Result<Folder> {
    Folder::root().await?.make(HOME).await
}

async fn write(json: &[u8]) -> Result<()> {
    // Half a note is no JSON, and says nothing.
    let (_, writer) = home().await?.create(FILE).await?;
    writer.write(FILE, 0, json)
}
