//! Storage for downloaded bytes: the platform interface, and an implementation in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use futures::future::LocalBoxFuture;

use super::id::HubId;
use super::repo::{FileKey, Repo};
use crate::error::{Error, Result};
use crate::weights::Listener;

/// Stores parts of files until they are complete, across visits if the platform can.
///
/// A full store returns [`Error::StorageFull`]; everything stored before stays readable.
pub trait Store {
    /// The stored ranges of a file: ascending, not empty, separate.
    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<Vec<Range<u64>>>>;

    /// Reads stored bytes: the whole range or an error.
    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>>;

    /// Stores bytes from `at` on. Calls ascend within a part, each from the previous end. Afterwards [`Store::held`]
    /// includes them; it never, not even after a crash, includes bytes that are not there.
    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>>;

    /// Reserves a file for writing by this program; false while another program writes it. What it held before may have
    /// changed.
    fn lock<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<bool>> {
        Box::pin(async { Ok(true) })
    }

    /// Ends the reservation of [`Store::lock`].
    fn unlock(&self, _file: &FileKey) {}

    /// Makes written bytes durable: after every part, and when a file is complete.
    fn flush<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>>;

    /// Called when a file is complete and, if the hub gives its hash, verified.
    fn complete<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Whether an earlier run called [`Store::complete`] for the file as it is stored. Ask after [`Store::held`].
    fn is_verified(&self, _file: &FileKey) -> bool {
        false
    }

    /// Registers the callback for the store's own events, such as warnings.
    fn listen(&self, _listener: Listener) {}

    /// How many stored copies of a file were deleted as damaged, by any program.
    fn discarded<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, u64> {
        Box::pin(async { 0 })
    }

    /// Deletes all that is stored of a damaged file; counts in [`Store::discarded`] if the store is durable.
    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>>;

    /// The last value of [`Store::save_repo`] for an id, for use without a network; `None` if there is none.
    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>>;

    /// The repositories remembered for the branches and tags of the same name as `id`, by revision.
    fn revisions<'a>(&'a self, _id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        Box::pin(async { Vec::new() })
    }

    /// Saves the resolved repository of an id, after every response of the hub.
    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>>;
}

/// A store for the lifetime of the program: for tests, and when other stores are full.
#[derive(Default)]
pub struct MemoryStore {
    parts: RefCell<BTreeMap<FileKey, Parts>>,
    repos: RefCell<BTreeMap<HubId, Repo>>,
}

/// Parts of a file by first byte; adjacent ones are joined.
type Parts = BTreeMap<u64, Vec<u8>>;

impl MemoryStore {
    fn ranges(&self, file: &FileKey) -> Vec<Range<u64>> {
        let parts = self.parts.borrow();
        let range = |(&start, bytes): (&u64, &Vec<u8>)| start..start + bytes.len() as u64;
        parts.get(file).map(|parts| parts.iter().map(range).collect()).unwrap_or_default()
    }

    fn bytes(&self, file: &FileKey, range: &Range<u64>) -> Option<Vec<u8>> {
        let parts = self.parts.borrow();
        let (start, bytes) = parts.get(file)?.range(..=range.start).next_back()?;
        let at = |position: u64| usize::try_from(position.checked_sub(*start)?).ok();
        bytes.get(at(range.start)?..at(range.end)?).map(<[u8]>::to_vec)
    }

    fn keep(&self, file: &FileKey, at: u64, bytes: &[u8]) -> Result<()> {
        let mut files = self.parts.borrow_mut();
        let parts = files.entry(file.clone()).or_default();
        let before = parts.range(..=at).next_back().filter(|(start, held)| **start + held.len() as u64 == at);
        let start = before.map_or(at, |(start, _)| *start);
        let part = parts.entry(start).or_default();
        part.try_reserve(bytes.len()).map_err(|error| Error::StorageFull { why: error.to_string() })?;
        part.extend_from_slice(bytes);
        let end = start + part.len() as u64;
        if let Some(after) = parts.remove(&end) {
            parts.entry(start).or_default().extend(after);
        }
        Ok(())
    }
}

impl Store for MemoryStore {
    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<Vec<Range<u64>>>> {
        Box::pin(async move { Ok(self.ranges(file)) })
    }

    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let why = format!("bytes {range:?} were not downloaded");
            self.bytes(file, &range).ok_or(Error::UnreadableFile { file: file.path.clone(), why })
        })
    }

    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.keep(file, at, bytes) })
    }

    fn flush<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.parts.borrow_mut().remove(file);
            Ok(())
        })
    }

    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
        Box::pin(async move { Ok(self.repos.borrow().get(id).cloned()) })
    }

    fn revisions<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        let repos = self.repos.borrow();
        let same = repos.iter().filter(|(known, _)| known.is_sibling(id));
        let found = same.map(|(known, repo)| (known.revision_or_main().to_owned(), repo.clone())).collect();
        Box::pin(async { found })
    }

    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.repos.borrow_mut().insert(id.clone(), repo.clone());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn key() -> FileKey {
        let repo = HubId::model("a/b").unwrap();
        FileKey { repo, commit: "c".into(), path: "model.safetensors".into(), size: 100, blob: None }
    }

    #[test]
    fn parts_join_with_their_neighbours_and_nothing_else_is_read() {
        let (store, key) = (MemoryStore::default(), key());
        for (at, bytes) in [(10, &b"abc"[..]), (13, b"de"), (20, b"xyz"), (15, b"fghij")] {
            block_on(store.write(&key, at, bytes)).unwrap();
        }
        assert_eq!(block_on(store.held(&key)).unwrap(), [10..23]);
        assert_eq!(block_on(store.read(&key, 12..21)).unwrap(), b"cdefghijx");
        for outside in [9..11, 22..24, 0..1, 30..31] {
            assert!(block_on(store.read(&key, outside)).is_err());
        }
        let other = FileKey { commit: "d".into(), ..key };
        assert!(block_on(store.held(&other)).unwrap().is_empty(), "another commit is another file");
    }
}
