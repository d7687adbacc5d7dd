//! Which kernels won on which device, kept in the browser's file system, so that a device is raced on at the first visit.

use straightedge::error::Result;
use straightedge::gpu::race;

use super::disk::Folder;

const HOME: &str = "straightedge";
const FILE: &str = "races.txt";

/// Tells the engine what earlier visits found out, where this browser keeps anything.
pub(super) async fn recall() {
    if let Ok(home) = home().await
        && let Some(notes) = home.read(FILE).await
    {
        race::recall(&notes);
    }
}

/// Keeps what was found out since. Where nothing can be kept, the next visit races again.
pub(super) async fn keep() {
    if let Some(notes) = race::remembered() {
        let _ = write(notes.as_bytes()).await;
    }
}

async fn home() -> Result<Folder> {
    Folder::root().await?.make(HOME).await
}

async fn write(notes: &[u8]) -> Result<()> {
    // Half a line names nothing that is there, and says nothing.
    let (_, writer) = home().await?.create(FILE).await?;
    writer.write(0, notes)
}
