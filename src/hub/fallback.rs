//! A store that continues in memory, with a warning, when another is full.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use futures::future::LocalBoxFuture;

use super::id::HubId;
use super::plan;
use super::repo::FileKey;
use super::repo::Repo;
use super::store::{MemoryStore, Store};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::report::{Warning, WarningKind};
use crate::weights::Listener;

/// Writes to `first` until it is full, then to a store in memory.
pub struct Fallback {
    first: Rc<dyn Store>,
    memory: Rc<dyn Store>,
    full: Cell<bool>,
    listener: RefCell<Option<Listener>>,
}

impl Fallback {
    /// Wraps a store that may become full.
    pub fn new(first: Rc<dyn Store>) -> Self {
        Self::with(first, Rc::<MemoryStore>::default())
    }

    /// [`Fallback::new`] with a given memory store: a browser has room outside the engine's own memory.
    pub fn with(first: Rc<dyn Store>, memory: Rc<dyn Store>) -> Self {
        Self { first, memory, full: Cell::new(false), listener: RefCell::default() }
    }

    /// Marks the first store as full and warns once.
    fn fill(&self, why: &str) {
        if self.full.replace(true) {
            return;
        }
        let warning = Warning::new(&WarningKind::StorageFull { why: why.into() });
        if let Some(listener) = &*self.listener.borrow() {
            listener(Event::Warning(warning));
        }
    }

    /// The ranges held by the first store; empty if it is too full even to list them.
    async fn held_first(&self, file: &FileKey) -> Result<plan::Ranges> {
        match self.first.held(file).await {
            Err(Error::StorageFull { why }) => {
                self.fill(&why);
                Ok(plan::Ranges::new())
            }
            held => held,
        }
    }

    /// Turns a full store into `Ok`.
    fn unless_full(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(Error::StorageFull { why }) => {
                self.fill(&why);
                Ok(())
            }
            result => result,
        }
    }
}

impl Store for Fallback {
    fn listen(&self, listener: Listener) {
        *self.listener.borrow_mut() = Some(listener);
    }

    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<plan::Ranges>> {
        Box::pin(async move {
            let mut held = self.held_first(file).await?;
            held.extend(self.memory.held(file).await?);
            Ok(plan::normal(held))
        })
    }

    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            // A range may lie in both stores.
            let (first, mut bytes) = (self.held_first(file).await?, Vec::new());
            let in_memory = plan::missing(std::slice::from_ref(&range), &first);
            let mut at = range.start;
            for gap in in_memory.iter().cloned().chain([range.end..range.end]) {
                if at < gap.start {
                    bytes.extend(self.first.read(file, at..gap.start).await?);
                }
                if gap.start < gap.end {
                    bytes.extend(self.memory.read(file, gap.clone()).await?);
                }
                at = gap.end;
            }
            Ok(bytes)
        })
    }

    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if !self.full.get() {
                match self.first.write(file, at, bytes).await {
                    Err(Error::StorageFull { why }) => self.fill(&why),
                    result => return result,
                }
            }
            self.memory.write(file, at, bytes).await
        })
    }

    fn flush<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.unless_full(self.first.flush(file).await) })
    }

    fn complete<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            // A file split over both is complete in neither.
            if self.memory.held(file).await?.is_empty() { self.first.complete(file).await } else { Ok(()) }
        })
    }

    fn is_verified(&self, file: &FileKey) -> bool {
        self.first.is_verified(file)
    }

    fn lock<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            // Also once it is full, since what it holds is still completed or deleted there.
            match self.first.lock(file).await {
                Err(Error::StorageFull { why }) => {
                    self.fill(&why);
                    Ok(true)
                }
                locked => locked,
            }
        })
    }

    fn unlock(&self, file: &FileKey) {
        self.first.unlock(file);
    }

    fn discarded<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, u64> {
        self.first.discarded(file)
    }

    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.memory.forget(file).await?;
            self.first.forget(file).await
        })
    }

    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
        self.first.load_repo(id)
    }

    fn revisions<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        self.first.revisions(id)
    }

    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.unless_full(self.first.save_repo(id, repo).await) })
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    /// A store with a size limit in bytes, and whether another program writes to it.
    struct Small(MemoryStore, Cell<usize>, Cell<bool>);

    fn small(room: usize) -> Rc<Small> {
        Rc::new(Small(MemoryStore::default(), Cell::new(room), Cell::new(false)))
    }

    fn key() -> FileKey {
        FileKey { repo: HubId::model("a/b").unwrap(), commit: "c".into(), path: "w".into(), size: 12, blob: None }
    }

    impl Store for Small {
        fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<plan::Ranges>> {
            self.0.held(file)
        }
        fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
            self.0.read(file, range)
        }
        fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
            Box::pin(async move {
                let free = self.1.get().checked_sub(bytes.len());
                self.1.set(free.ok_or_else(|| Error::StorageFull { why: "quota".into() })?);
                self.0.write(file, at, bytes).await
            })
        }
        fn flush<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
            self.0.flush(file)
        }
        fn lock<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<bool>> {
            Box::pin(async { Ok(!self.2.get()) })
        }
        fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
            self.0.forget(file)
        }
        fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
            self.0.load_repo(id)
        }
        fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
            self.0.save_repo(id, repo)
        }
    }

    #[test]
    fn what_finds_no_room_goes_on_in_memory_and_is_read_in_one_piece() {
        let reports = Rc::new(Cell::new(0));
        let store = Fallback::new(small(6));
        let counter = reports.clone();
        store.listen(Rc::new(move |event| {
            assert!(matches!(&event, Event::Warning(warning) if warning.code == "storage_full"), "{event:?}");
            counter.set(counter.get() + 1);
        }));
        let key = key();
        block_on(async {
            for (at, bytes) in [(0, b"abc"), (3, b"def"), (6, b"ghi"), (9, b"jkl")] {
                store.write(&key, at, bytes).await.unwrap();
            }
            assert_eq!(store.held(&key).await.unwrap(), [0..12]);
            assert_eq!(store.read(&key, 4..11).await.unwrap(), b"efghijk");
            assert_eq!(reports.get(), 1, "one event");
            store.forget(&key).await.unwrap();
            assert!(store.held(&key).await.unwrap().is_empty());
        });
    }

    #[test]
    fn a_full_store_is_asked_whether_another_program_writes_there() {
        let (first, key) = (small(0), key());
        let store = Fallback::new(first.clone());
        block_on(async {
            store.write(&key, 0, b"abc").await.unwrap();
            assert!(store.full.get());
            first.2.set(true);
            assert!(!store.lock(&key).await.unwrap());
            first.2.set(false);
            assert!(store.lock(&key).await.unwrap());
        });
    }
}
