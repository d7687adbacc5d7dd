//! Downloads as blobs where storage is full: the browser keeps them outside wasm memory, as long as the page.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use js_sys::{Array, Uint8Array};
use straightedge::hub::repo::{FileKey, Repo};
use straightedge::hub::store::Store;
use straightedge_api::error::{Error, Result};
use straightedge_api::hub::id::HubId;
use straightedge_web::browser::fetch::{self, reason};
use web_sys::Blob;

/// Bytes collected before they become a blob.
const GATHER: u64 = 4 << 20;

/// A store in the browser's memory.
#[derive(Default)]
pub(super) struct Blobs {
    files: RefCell<BTreeMap<FileKey, Vec<BlobPart>>>,
    repos: RefCell<BTreeMap<HubId, Repo>>,
}

/// Consecutive bytes of a file.
#[derive(Default)]
struct BlobPart {
    start: u64,
    /// The stored blobs, as an array.
    blobs: Array,
    /// Bytes that are not in a blob yet.
    gathered: Array,
    gathered_bytes: u64,
    bytes: u64,
}

impl BlobPart {
    fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.gathered.push(&Uint8Array::from(bytes));
        self.gathered_bytes += bytes.len() as u64;
        self.bytes += bytes.len() as u64;
        if self.gathered_bytes >= GATHER { self.settle() } else { Ok(()) }
    }

    fn settle(&mut self) -> Result<()> {
        if self.gathered_bytes > 0 {
            let blob = blob_of(&self.gathered)?;
            self.blobs.push(&blob);
            (self.gathered, self.gathered_bytes) = (Array::new(), 0);
        }
        Ok(())
    }
}

fn blob_of(parts: &Array) -> Result<Blob> {
    Blob::new_with_blob_sequence(parts).map_err(|why| Error::StorageFull { why: reason(&why) })
}

impl Store for Blobs {
    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<Vec<Range<u64>>>> {
        let files = self.files.borrow();
        let mut held: Vec<_> =
            files.get(file).map(|parts| parts.iter().map(BlobPart::range).collect()).unwrap_or_default();
        held.sort_by_key(|range| range.start);
        async move { Ok(held) }.boxed_local()
    }

    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        async move {
            let (start, blob) = {
                let mut files = self.files.borrow_mut();
                let holds = |part: &&mut BlobPart| part.start <= range.start && range.end <= part.range().end;
                let part = files.get_mut(file).and_then(|parts| parts.iter_mut().find(holds)).ok_or_else(|| {
                    let why = format!("bytes {range:?} were not downloaded");
                    Error::UnreadableFile { file: file.path.clone(), why }
                })?;
                part.settle()?;
                (part.start, blob_of(&part.blobs)?)
            };
            fetch::bytes(&file.path, &blob, range.start - start, range.end - start).await
        }
        .boxed_local()
    }

    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let mut files = self.files.borrow_mut();
        let parts = files.entry(file.clone()).or_default();
        let place = parts.iter().position(|part| part.range().end == at).unwrap_or_else(|| {
            parts.push(BlobPart { start: at, ..BlobPart::default() });
            parts.len() - 1
        });
        let written = parts[place].push(bytes).and_then(|()| join(parts, place));
        async move { written }.boxed_local()
    }

    fn flush<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed_local()
    }

    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        self.files.borrow_mut().remove(file);
        async { Ok(()) }.boxed_local()
    }

    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
        let repo = self.repos.borrow().get(id).cloned();
        async move { Ok(repo) }.boxed_local()
    }

    fn revisions<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        let repos = self.repos.borrow();
        let same = repos.iter().filter(|(known, _)| known.is_sibling(id));
        let found: Vec<_> = same.map(|(known, repo)| (known.revision_or_main().to_owned(), repo.clone())).collect();
        async { found }.boxed_local()
    }

    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
        self.repos.borrow_mut().insert(id.clone(), repo.clone());
        async { Ok(()) }.boxed_local()
    }
}

/// Joins a part to the one that starts at its end.
fn join(parts: &mut Vec<BlobPart>, place: usize) -> Result<()> {
    let end = parts[place].range().end;
    let Some(next) = parts.iter().position(|part| part.start == end) else { return Ok(()) };
    parts[next].settle()?;
    parts[place].settle()?;
    let (blobs, bytes) = (parts[next].blobs.clone(), parts[next].bytes);
    blobs.iter().for_each(|blob| {
        parts[place].blobs.push(&blob);
    });
    parts[place].bytes += bytes;
    parts.remove(next);
    Ok(())
}
