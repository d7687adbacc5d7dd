//! The store of the command line: the cache of Hugging Face's own tools, and a folder of our own next to it.
//!
//! Whole files lie in the cache as `models--OWNER--NAME/{blobs,refs,snapshots}`, shared with all other tools. Parts of
//! files lie in our folder, each as a file named by its first byte, until a file is complete.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use futures::future::LocalBoxFuture;

use super::id::{HubId, RepoKind, is_commit};
use super::plan::{self, Ranges};
use super::repo::FileKey;
use super::repo::{Repo, RepoFile};
use super::store::Store;
use crate::corpus::tokenizer_files;
use crate::error::{Error, Result};
use crate::weights::{has_weights, is_weight_file};

/// A store on disk.
pub struct DiskStore {
    /// `…/huggingface/hub`.
    cache: PathBuf,
    /// `…/huggingface/straightedge`.
    own: PathBuf,
    /// Files reserved for writing: their lock files, and by how many downloads of this program.
    locks: RefCell<BTreeMap<FileKey, (File, usize)>>,
    /// Commits resolved in this run; written to the cache's refs once a file is complete.
    resolved: RefCell<BTreeMap<HubId, String>>,
}

/// A model that can be measured without a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// `OWNER/NAME`.
    pub name: String,
    /// Branch, tag or commit.
    pub revision: String,
    /// Bytes on disk of all files of that revision.
    pub bytes: u64,
}

impl DiskStore {
    /// A store over the cache folder `cache`, which need not exist yet.
    pub fn new(cache: PathBuf) -> Self {
        let own = cache.with_file_name("straightedge");
        Self { cache, own, locks: RefCell::default(), resolved: RefCell::default() }
    }

    /// Our own folder next to the cache; it need not exist yet.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// A repository's folder in the cache.
    fn folder(&self, id: &HubId) -> PathBuf {
        self.cache.join(folder_name(id))
    }

    fn own_folder(&self, id: &HubId) -> PathBuf {
        self.own.join(folder_name(id))
    }

    /// Path of a whole file in the cache.
    fn snapshot(&self, file: &FileKey) -> PathBuf {
        self.folder(&file.repo).join("snapshots").join(&file.commit).join(&file.path)
    }

    /// Folder of a file's parts.
    fn parts(&self, file: &FileKey) -> PathBuf {
        self.own_folder(&file.repo).join(&file.commit).join(format!("{}.parts", file.path))
    }

    /// The lock of a file, or a note about it such as `verified`, next to its parts.
    fn note_path(&self, file: &FileKey, ending: &str) -> PathBuf {
        self.parts(file).with_extension(ending)
    }

    fn is_whole(&self, file: &FileKey) -> bool {
        fs::metadata(self.snapshot(file)).is_ok_and(|found| found.is_file() && found.len() == file.size)
    }

    /// The parts of a file with their byte ranges.
    fn part_files(&self, file: &FileKey) -> Vec<(Range<u64>, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.parts(file)) else { return Vec::new() };
        let mut parts: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let start: u64 = entry.file_name().to_str()?.parse().ok()?;
                let end = start.checked_add(entry.metadata().ok()?.len())?;
                (end <= file.size && start < end).then(|| (start..end, entry.path()))
            })
            .collect();
        parts.sort_unstable_by_key(|(range, _)| range.start);
        parts
    }

    fn read_now(&self, file: &FileKey, range: &Range<u64>) -> Result<Vec<u8>> {
        let unreadable = |why: String| Error::UnreadableFile { file: file.path.clone(), why };
        let pieces = match self.is_whole(file) {
            true => vec![(0..file.size, self.snapshot(file))],
            false => self.part_files(file),
        };
        let mut bytes = Vec::new();
        for (held, path) in pieces {
            let at = range.start + bytes.len() as u64;
            if !(held.start..held.end).contains(&at) || at >= range.end {
                continue;
            }
            let len = held.end.min(range.end) - at;
            let mut part = File::open(path).map_err(|error| unreadable(error.to_string()))?;
            let read = part.seek(SeekFrom::Start(at - held.start)).and_then(|_| part.take(len).read_to_end(&mut bytes));
            read.map_err(|error| unreadable(error.to_string()))?;
        }
        if bytes.len() as u64 == range.end - range.start {
            return Ok(bytes);
        }
        Err(unreadable(format!("bytes {range:?} were not downloaded")))
    }

    /// Writes into the part that holds the byte before `at`, or into a new one.
    fn write_now(&self, file: &FileKey, at: u64, bytes: &[u8]) -> Result<()> {
        let folder = self.parts(file);
        let failed = |error: std::io::Error| unwritable(&folder, &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let part = self.part_files(file).into_iter().find(|(range, _)| (range.start..=range.end).contains(&at));
        let is_new = part.is_none();
        let (start, path) = part.map_or_else(|| (at, folder.join(at.to_string())), |(range, path)| (range.start, path));
        // A file of this name that is no valid part is damaged: overwrite it.
        let mut part = OpenOptions::new().create(true).truncate(is_new).write(true).open(path).map_err(failed)?;
        part.seek(SeekFrom::Start(at - start)).and_then(|_| part.write_all(bytes)).map_err(failed)
    }

    fn lock_now(&self, file: &FileKey) -> Result<bool> {
        let mut locks = self.locks.borrow_mut();
        if let Some((_, downloads)) = locks.get_mut(file) {
            *downloads += 1;
            return Ok(true);
        }
        let path = self.note_path(file, "lock");
        match self.open_lock(&path).map_err(TryLockError::Error).and_then(|lock| lock.try_lock().map(|()| lock)) {
            Ok(lock) => {
                locks.insert(file.clone(), (lock, 1));
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            // A whole file is only read where nothing can be written.
            Err(TryLockError::Error(_)) if self.is_whole(file) => Ok(true),
            Err(TryLockError::Error(error)) => Err(unwritable(&path, &error)),
        }
    }

    fn open_lock(&self, path: &Path) -> std::io::Result<File> {
        fs::create_dir_all(path.parent().unwrap_or(&self.own))?;
        OpenOptions::new().create(true).truncate(false).write(true).open(path)
    }

    fn unlock_now(&self, file: &FileKey) {
        let mut locks = self.locks.borrow_mut();
        if let Some((_, downloads)) = locks.get_mut(file) {
            *downloads -= 1;
            if *downloads == 0 {
                locks.remove(file);
            }
        }
    }

    /// Remembers a verified file, and moves it into the cache.
    fn complete_now(&self, file: &FileKey) -> Result<()> {
        if !self.is_whole(file) && file.blob.is_some() {
            self.move_to_cache(file)?;
        }
        // Without the note it is verified again in the next run.
        if let Some(stamp) = self.stamp(file) {
            let note = self.note_path(file, "verified");
            let _ = fs::create_dir_all(note.parent().unwrap_or(&self.own)).and_then(|()| fs::write(note, stamp));
        }
        Ok(())
    }

    fn move_to_cache(&self, file: &FileKey) -> Result<()> {
        let (Some(blob), parts) = (&file.blob, self.part_files(file)) else { return Ok(()) };
        let (repo, snapshot) = (self.folder(&file.repo), self.snapshot(file));
        let failed = |error: std::io::Error| unwritable(&snapshot, &error);
        let incomplete = |len: u64| {
            let why = format!("only its first {len} of {} bytes are stored", file.size);
            Error::UnreadableFile { file: file.path.clone(), why }
        };
        let Some(((first, joined), others)) = parts.split_first().filter(|((first, _), _)| first.start == 0) else {
            return Err(incomplete(0));
        };
        let (mut into, mut len) = (OpenOptions::new().append(true).open(joined).map_err(failed)?, first.end);
        for (range, part) in others {
            // Parts overlap where bytes came twice.
            if (range.start..range.end).contains(&len) {
                let mut part = File::open(part).map_err(failed)?;
                part.seek(SeekFrom::Start(len - range.start)).map_err(failed)?;
                len += std::io::copy(&mut part, &mut into).map_err(failed)?;
            }
        }
        into.sync_all().map_err(failed)?;
        if len != file.size || into.metadata().map_err(failed)?.len() != len {
            return Err(incomplete(len));
        }
        drop(into);
        fs::create_dir_all(repo.join("blobs")).map_err(failed)?;
        fs::create_dir_all(snapshot.parent().unwrap_or(&repo)).map_err(failed)?;
        let kept = repo.join("blobs").join(blob);
        fs::rename(joined, &kept).map_err(failed)?;
        if fs::symlink_metadata(&snapshot).is_ok() {
            fs::remove_file(&snapshot).map_err(failed)?;
        }
        link(&kept, &snapshot, 2 + file.path.matches('/').count()).map_err(failed)?;
        fs::remove_dir_all(self.parts(file)).map_err(failed)?;
        self.name_commit(file).map_err(failed)
    }

    /// Size and time of change of a whole file in the cache, which tell whether it is still the one verified.
    fn stamp(&self, file: &FileKey) -> Option<String> {
        let found = fs::metadata(self.snapshot(file)).ok().filter(|_| self.is_whole(file))?;
        let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(format!("{} {}", found.len(), changed.as_nanos()))
    }

    /// Deletes a damaged file, also where other tools put it into the cache. A link out of the cache is deleted alone.
    fn forget_now(&self, file: &FileKey) -> Result<()> {
        let (parts, snapshot) = (self.parts(file), self.snapshot(file));
        let gone = |path: &Path, outcome: std::io::Result<()>| match outcome {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(path, &error)),
            _ => Ok(()),
        };
        gone(&parts, fs::remove_dir_all(&parts))?;
        if let (Ok(blob), Ok(cache)) = (fs::canonicalize(&snapshot), fs::canonicalize(&self.cache))
            && blob.starts_with(cache)
        {
            gone(&blob, fs::remove_file(&blob))?;
        }
        gone(&snapshot, fs::remove_file(&snapshot))?;
        // An unwritable note is no error: only a saved measurement of the copy is then not refused.
        let (note, discarded) = (self.note_path(file, "discarded"), self.discarded_now(file) + 1);
        let folder = note.parent().unwrap_or(&self.own);
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&note, discarded.to_string()));
        Ok(())
    }

    fn discarded_now(&self, file: &FileKey) -> u64 {
        let note = fs::read_to_string(self.note_path(file, "discarded"));
        note.ok().and_then(|note| note.parse().ok()).unwrap_or_default()
    }

    /// Writes the commit of a branch to the cache's refs, now that a file of it is complete.
    fn name_commit(&self, file: &FileKey) -> std::io::Result<()> {
        for (id, commit) in self.resolved.borrow().iter() {
            let (same, revision) =
                (id.name() == file.repo.name() && id.kind() == file.repo.kind(), id.revision_or_main());
            if same && *commit == file.commit && !is_commit(revision) {
                let reference = self.folder(id).join("refs").join(revision);
                fs::create_dir_all(reference.parent().unwrap_or(&self.cache))?;
                fs::write(reference, commit)?;
            }
        }
        Ok(())
    }

    /// Our own saved listing of an id.
    fn noted(&self, id: &HubId) -> Option<Repo> {
        let json = fs::read(self.note(id)).ok()?;
        serde_json::from_slice(&json).ok().filter(|repo: &Repo| is_commit(&repo.commit))
    }

    fn note(&self, id: &HubId) -> PathBuf {
        self.own_folder(id).join("listings").join(format!("{}.json", id.revision_or_main()))
    }

    /// The files other tools left in the cache, if they suffice for a measurement.
    fn cached(&self, id: &HubId) -> Option<Repo> {
        let revision = id.revision_or_main();
        let commit = match is_commit(revision) {
            true => revision.to_owned(),
            false => fs::read_to_string(self.folder(id).join("refs").join(revision)).ok()?.trim().to_owned(),
        };
        if !is_commit(&commit) {
            return None;
        }
        let pinned = id.at(&commit).ok()?;
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.folder(id).join("snapshots").join(&commit)).ok()?.flatten() {
            let (name, path) = (entry.file_name().to_str()?.to_owned(), entry.path());
            let Some(size) = fs::metadata(&path).ok().filter(fs::Metadata::is_file).map(|found| found.len()) else {
                continue;
            };
            let blob = fs::read_link(&path).ok();
            let blob = blob.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
            let sha256 = blob.clone().filter(|blob| blob.len() == 64);
            files.insert(name, RepoFile { size, sha256, oid: blob.filter(|blob| blob.len() == 40) });
        }
        let has = |name: &str| files.contains_key(name);
        (has_weights(has) && has("config.json") && tokenizer_files(has).is_some()).then_some(Repo {
            id: pinned,
            commit,
            files,
            gated: false,
            remark: None,
            conversion: None,
        })
    }

    /// The models that can be measured without a network, by name and revision.
    pub fn list(&self) -> Vec<Cached> {
        let mut found = BTreeMap::new();
        for id in self.references() {
            let noted = self.noted(&id);
            let converted = noted.as_ref().and_then(|main| self.noted(&id.at(main.conversion.as_ref()?).ok()?));
            let known =
                self.cached(&id).into_iter().chain(noted).chain(converted).find(|repo| self.is_measurable(repo));
            if let Some(repo) = known {
                let bytes = repo.files.keys().filter_map(|path| repo.key(path)).map(|key| self.bytes(&key)).sum();
                let revision = id.revision_or_main().to_owned();
                found.insert(
                    (id.name().to_owned(), revision.clone()),
                    Cached { name: id.name().into(), revision, bytes },
                );
            }
        }
        found.into_values().collect()
    }

    /// Whether its weights are stored, at least in part.
    fn is_measurable(&self, repo: &Repo) -> bool {
        let keys = repo.files.keys().filter(|path| is_weight_file(path)).filter_map(|path| repo.key(path));
        keys.map(|key| self.bytes(&key)).any(|bytes| bytes > 1 << 10)
    }

    fn bytes(&self, file: &FileKey) -> u64 {
        plan::len(&self.held_now(file))
    }

    fn held_now(&self, file: &FileKey) -> Ranges {
        if self.is_whole(file) {
            return vec![0..file.size];
        }
        plan::normal(self.part_files(file).into_iter().map(|(range, _)| range).collect())
    }

    /// Models with a known branch or tag, in either folder.
    fn references(&self) -> Vec<HubId> {
        let mut ids = Vec::new();
        for (root, folder, ending) in [(&self.cache, "refs", ""), (&self.own, "listings", ".json")] {
            for entry in fs::read_dir(root).into_iter().flatten().flatten() {
                let Some(name) =
                    entry.file_name().to_str().and_then(|name| Some(name.strip_prefix("models--")?.replace("--", "/")))
                else {
                    continue;
                };
                for reference in fs::read_dir(entry.path().join(folder)).into_iter().flatten().flatten() {
                    let revision =
                        reference.file_name().to_str().and_then(|file| Some(file.strip_suffix(ending)?.to_owned()));
                    let named = revision.filter(|revision| !is_commit(revision));
                    ids.extend(named.and_then(|revision| HubId::model(&format!("{name}@{revision}")).ok()));
                }
            }
        }
        ids
    }
}

fn folder_name(id: &HubId) -> String {
    let kind = match id.kind() {
        RepoKind::Model => "models",
        RepoKind::Dataset => "datasets",
    };
    format!("{kind}--{}", id.name().replace('/', "--"))
}

/// Links `to` to `kept`, which lies in `blobs` `depth` folders up, like Hugging Face's own tools.
#[cfg(unix)]
fn link(kept: &Path, to: &Path, depth: usize) -> std::io::Result<()> {
    let target: PathBuf = std::iter::repeat_n("..", depth).collect();
    std::os::unix::fs::symlink(target.join("blobs").join(kept.file_name().unwrap_or_default()), to)
}

/// Where symbolic links need a privilege, the snapshot holds the file itself.
#[cfg(not(unix))]
fn link(kept: &Path, to: &Path, _depth: usize) -> std::io::Result<()> {
    fs::rename(kept, to)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::StorageFull { why: error.to_string() },
        _ => Error::UnwritableFile { file: path.display().to_string(), why: error.to_string() },
    }
}

impl Store for DiskStore {
    fn held<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<Ranges>> {
        Box::pin(async move { Ok(self.held_now(file)) })
    }

    fn read<'a>(&'a self, file: &'a FileKey, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            // Another program may have moved the parts into the cache while they were read.
            let again = |error| if self.is_whole(file) { self.read_now(file, &range) } else { Err(error) };
            self.read_now(file, &range).or_else(again)
        })
    }

    fn write<'a>(&'a self, file: &'a FileKey, at: u64, bytes: &'a [u8]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.write_now(file, at, bytes) })
    }

    fn flush<'a>(&'a self, _file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        // Every write goes to the system at once, and a part's length is what has arrived.
        Box::pin(async { Ok(()) })
    }

    fn lock<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.lock_now(file) })
    }

    fn unlock(&self, file: &FileKey) {
        self.unlock_now(file);
    }

    fn complete<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.complete_now(file) })
    }

    fn is_verified(&self, file: &FileKey) -> bool {
        let note = fs::read_to_string(self.note_path(file, "verified")).ok();
        note.is_some() && note == self.stamp(file)
    }

    fn discarded<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, u64> {
        Box::pin(async move { self.discarded_now(file) })
    }

    fn forget<'a>(&'a self, file: &'a FileKey) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move { self.forget_now(file) })
    }

    fn load_repo<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Result<Option<Repo>>> {
        Box::pin(async move { Ok(self.noted(id).or_else(|| self.cached(id))) })
    }

    fn revisions<'a>(&'a self, id: &'a HubId) -> LocalBoxFuture<'a, Vec<(String, Repo)>> {
        Box::pin(async move {
            let known = self.references().into_iter().filter(|known| known.is_sibling(id));
            known.filter_map(|known| Some((known.revision_or_main().to_owned(), self.noted(&known)?))).collect()
        })
    }

    fn save_repo<'a>(&'a self, id: &'a HubId, repo: &'a Repo) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.resolved.borrow_mut().insert(id.clone(), repo.commit.clone());
            let note = self.note(id);
            let folder = note.parent().unwrap_or(&self.own);
            let json = serde_json::to_vec(repo).expect("a listing is plain data");
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&note, json));
            written.map_err(|error| unwritable(&note, &error))
        })
    }
}
