//! Downloads in the browser's own file system (OPFS), kept across visits.
//!
//! `straightedge/files/KIND,OWNER,NAME@COMMIT/PATH/START.TAB`: every part of a file is a file of its own, named by its
//! first byte and the tab that wrote it. Names and sizes alone say what is stored, and two tabs never write the same
//! file. `straightedge/ids` holds what the hub last said every id stands for.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use straightedge::hub::plan;
use straightedge::hub::repo::{FileKey, Repo};
use straightedge::hub::store::Store;
use straightedge_api::error::{Error, Result};
use straightedge_api::hub::id::{HubId, RepoKind, is_commit};
use straightedge_web::browser::fetch;
use wasm_bindgen::JsCast as _;
use web_sys::{File, FileSystemFileHandle};

use super::disk::{Entry, Folder, OwnFile, blob};

const HOME: &str = "straightedge";
const FILES: &str = "files";
const IDS: &str = "ids";
/// A note next to the parts of a file whose hash was compared: their [`Kept::stamp`] at that time.
const VERIFIED: &str = "verified";
/// How many copies of a file were deleted as damaged, by the names of repository and file; it outlasts the download.
const DISCARDED: &str = "discarded";

/// A store on disk.
pub(super) struct Opfs {
    files: Folder,
    ids: Folder,
    discarded: Folder,
    /// Distinguishes this tab's parts from those of others.
    tab: String,
    open: RefCell<BTreeMap<FileKey, Rc<Kept>>>,
}

/// A file with stored parts.
struct Kept {
    folder: Folder,
    parts: RefCell<Vec<OpfsPart>>,
    verified: Cell<bool>,
}

/// A range of a file's bytes, stored as a file of its own.
struct OpfsPart {
    start: u64,
    len: u64,
    file: FileSystemFileHandle,
    /// The open writer, while the part is being written.
    writer: Option<Rc<OwnFile>>,
}

impl OpfsPart {
    fn range(&self) -> Range<u64> {
        self.start..self.start + self.len
    }
}

impl Kept {
    /// Offset, length and modification time of every part, which identify the verified file.
    async fn stamp(&self) -> String {
        let parts: Vec<_> = self.parts.borrow().iter().map(|part| (part.start, part.file.clone())).collect();
        let mut lines = Vec::new();
        for (start, file) in parts {
            if let Some(file) = blob(&file).await {
                let file: File = file.unchecked_into();
                lines.push(format!("{start} {} {}\n", file.size(), file.last_modified()));
            }
        }
        lines.sort();
        lines.concat()
    }
}

impl Opfs {
    /// Opens the store of this site.
    ///
    /// # Errors
    /// [`Error::NoStorage`] if the browser keeps no files for this page, [`Error::StorageFull`] if it has no room.
    pub(super) async fn open() -> Result<Self> {
        let home = Folder::root().await?.make(HOME).await?;
        let (files, ids, discarded) = (home.make(FILES).await?, home.make(IDS).await?, home.make(DISCARDED).await?);
        let tab = format!("{:x}", (js_sys::Math::random() * 2f64.powi(48)) as u64);
        Ok(Self { files, ids, discarded, tab, open: RefCell::default() })
    }

    /// The names of all repositories, with their bytes.
    pub(super) async fn list(&self) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        for entry in self.files.entries().await {
            if let Entry::Folder(name, folder) = entry {
                found.push((shown(&name), folder.bytes().await));
            }
        }
        found.sort();
        found
    }

    /// Deletes a repository by its name from [`Opfs::list`].
    pub(super) async fn delete(&self, name: &str) {
        for entry in self.files.entries().await {
            if let Entry::Folder(folder, _) = entry
                && shown(&folder) == name
            {
                self.files.remove(&folder).await;
            }
        }
        let repo = name.split('@').next().unwrap_or(name);
        for entry in self.ids.entries().await {
            if let Entry::File(file, _) = entry
                && shown(&file).split('@').next() == Some(repo)
            {
                self.ids.remove(&file).await;
            }
        }
        self.open.borrow_mut().clear();
    }

    /// Deletes everything.
    pub(super) async fn clear(&self) {
        for folder in [&self.files, &self.ids] {
            for entry in folder.entries().await {
                let (Entry::Folder(name, _) | Entry::File(name, _)) = entry;
                folder.remove(&name).await;
            }
        }
        self.open.borrow_mut().clear();
    }

    /// The file with its parts, as found on disk on the first request.
    async fn kept(&self, key: &FileKey) -> Result<Rc<Kept>> {
        if let Some(kept) = self.open.borrow().get(key) {
            return Ok(Rc::clone(kept));
        }
        let folder = self.files.make(&repo_name(key)).await?.make(&escaped(&key.path)).await?;
        let mut parts = Vec::new();
        for entry in folder.entries().await {
            if let Entry::File(name, file) = entry
                && let Some(start) = name.split('.').next().and_then(|start| start.parse::<u64>().ok())
                && let Some(blob) = blob(&file).await
                && let len = blob.size() as u64
                && len > 0
                && start.checked_add(len).is_some_and(|end| end <= key.size)
            {
                parts.push(OpfsPart { start, len, file, writer: None });
            }
        }
        let kept = Rc::new(Kept { folder, parts: RefCell::new(parts), verified: Cell::new(false) });
        if let Some(note) = kept.folder.read(VERIFIED).await.filter(|note| !note.is_empty()) {
            kept.verified.set(note == kept.stamp().await.as_bytes());
        }
        self.open.borrow_mut().insert(key.clone(), Rc::clone(&kept));
        Ok(kept)
    }

    async fn append(&self, key: &FileKey, at: u64, bytes: &[u8]) -> Result<()> {
        let kept = self.kept(key).await?;
        kept.verified.set(false);
        let under_way = |part: &&mut OpfsPart| part.writer.is_some() && part.range().end == at;
        if let Some(part) = kept.parts.borrow_mut().iter_mut().find(under_way) {
            if let Some(writer) = &part.writer {
                writer.write(part.len, bytes)?;
            }
            part.len += bytes.len() as u64;
            return Ok(());
        }
        let (file, writer) = kept.folder.create(&format!("{at}.{}", self.tab)).await?;
        writer.write(0, bytes)?;
        let mut parts = kept.parts.borrow_mut();
        // The same start again replaces what this tab wrote there before.
        parts.retain(|part| part.start != at || part.len > bytes.len() as u64);
        parts.push(OpfsPart { start: at, len: bytes.len() as u64, file, writer: Some(Rc::new(writer)) });
        Ok(())
    }

    async fn bytes(&self, key: &FileKey, range: Range<u64>) -> Result<Vec<u8>> {
        let kept = self.kept(key).await?;
        close(&kept);
        let (len, mut bytes) = (range.end.saturating_sub(range.start), Vec::new());
        let is_reserved = usize::try_from(len).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
        if !is_reserved {
            return Err(Error::NoRoom { what: format!("{}: {len} bytes", key.path) });
        }
        while range.start + (bytes.len() as u64) < range.end {
            let at = range.start + bytes.len() as u64;
            let found = kept
                .parts
                .borrow()
                .iter()
                .filter(|part| part.range().contains(&at))
                .max_by_key(|part| part.range().end)
                .map(|part| (part.range(), part.file.clone()));
            let gone = || Error::Evicted { file: key.path.clone() };
            let (held, file) = found.ok_or_else(gone)?;
            let blob = blob(&file).await.ok_or_else(gone)?;
            let end = range.end.min(held.end);
            bytes.extend(fetch::bytes(&key.path, &blob, at - held.start, end - held.start).await?);
        }
        Ok(bytes)
    }
}

/// Ends the open part; later bytes go to a new part.
fn close(kept: &Kept) {
    kept.parts.borrow_mut().iter_mut().for_each(|part| part.writer = None);
}

impl Store for Opfs {
    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<Vec<Range<u64>>>> {
        async move { Ok(plan::normal(self.kept(file).await?.parts.borrow().iter().map(OpfsPart::range).collect())) }
            .boxed_local()
    }

    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        self.bytes(file, range).boxed_local()
    }

    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.append(file, at, bytes).boxed_local()
    }

    fn flush<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            close(&*self.kept(file).await?);
            Ok(())
        }
        .boxed_local()
    }

    fn complete<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let kept = self.kept(file).await?;
            close(&kept);
            kept.verified.set(true);
            // Without the note it is verified again in the next visit.
            if let Ok((_, note)) = kept.folder.create(VERIFIED).await {
                let _ = note.write(0, kept.stamp().await.as_bytes());
            }
            Ok(())
        }
        .boxed_local()
    }

    fn is_verified(&self, file: &FileKey) -> bool {
        self.open.borrow().get(file).is_some_and(|kept| kept.verified.get())
    }

    fn discarded<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, u64> {
        async move {
            let note = self.discarded.read(&note_name(file)).await;
            note.and_then(|note| str::from_utf8(&note).ok()?.parse().ok()).unwrap_or_default()
        }
        .boxed_local()
    }

    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            close(&*self.kept(file).await?);
            let discarded = self.discarded(file).await + 1;
            self.open.borrow_mut().remove(file);
            self.files.make(&repo_name(file)).await?.remove(&escaped(&file.path)).await;
            // Without the note a saved measurement of the copy is not refused, but the damage is still reported.
            if let Ok((_, note)) = self.discarded.create(&note_name(file)).await {
                let _ = note.write(0, discarded.to_string().as_bytes());
            }
            Ok(())
        }
        .boxed_local()
    }

    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
        async move {
            let json = self.ids.read(&id_name(id)).await;
            // An unparsable note comes from an earlier version; the hub can be asked again.
            let repo: Option<Repo> = json.and_then(|json| serde_json::from_slice(&json).ok());
            Ok(repo.filter(|repo| is_commit(&repo.commit)))
        }
        .boxed_local()
    }

    fn revisions<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        async move {
            let mut found = Vec::new();
            for entry in self.ids.entries().await {
                if let Entry::File(name, _) = entry
                    && let Ok(known) = HubId::model(&shown(&name))
                    && known.is_sibling(id)
                    && let Ok(Some(repo)) = self.load_repo(&known).await
                {
                    found.push((known.revision_or_main().to_owned(), repo));
                }
            }
            found
        }
        .boxed_local()
    }

    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let json = serde_json::to_vec(repo).unwrap_or_default();
            let (_, writer) = self.ids.create(&id_name(id)).await?;
            writer.write(0, &json)
        }
        .boxed_local()
    }
}

fn repo_name(key: &FileKey) -> String {
    format!("{},{}@{}", kind(&key.repo), escaped(key.repo.name()), escaped(&key.commit))
}

fn note_name(key: &FileKey) -> String {
    format!("{},{}", repo_name(key), escaped(&key.path))
}

fn id_name(id: &HubId) -> String {
    format!("{},{}", kind(id), escaped(&id.to_string()))
}

fn kind(id: &HubId) -> &'static str {
    match id.kind() {
        RepoKind::Model => "model",
        RepoKind::Dataset => "dataset",
    }
}

/// A path as a single name: a slash becomes a comma, which no id contains, and any other unusual character its number.
fn escaped(path: &str) -> String {
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    path.chars()
        .map(|c| match c {
            '/' => ",".into(),
            c if usual(c) => c.to_string(),
            c => format!("+{:x}+", u32::from(c)),
        })
        .collect()
}

/// Display name of a repository's folder.
fn shown(name: &str) -> String {
    name.split_once(',').map_or(name, |(_, id)| id).replace(',', "/")
}
