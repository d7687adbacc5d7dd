//! Sources of a model's files: a folder, files picked in a browser, bundled bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
#[cfg(not(target_arch = "wasm32"))]
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
#[cfg(not(target_arch = "wasm32"))]
use std::path::PathBuf;
use std::rc::Rc;

use futures::future::LocalBoxFuture;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::report::Warning;

/// A part of a file.
pub type FilePart = (String, Range<u64>);

/// Callback for a source's events while others wait for it: progress, waits and warnings.
pub type Listener = Rc<dyn Fn(Event)>;

/// Random access to the files of one model, by names relative to the model's folder.
pub trait Files {
    /// Size in bytes; `None` if the file does not exist.
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>>;

    /// Reads exactly the bytes `range` of a file, or fails.
    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>>;

    /// Announces all groups that will be prepared, in reading order, so that a remote source can report progress.
    fn announce<'a>(&'a self, _groups: &'a [Vec<FilePart>]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Prefetches a group of parts in few requests; [`Files::read`] then returns these parts without delay.
    fn prepare<'a>(&'a self, _parts: &'a [FilePart]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Reports that a file's contents are invalid: a source with a cache discards its copy.
    fn report_damaged<'a>(&'a self, _file: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// How many copies of a file the source has discarded as damaged so far.
    fn discarded<'a>(&'a self, _file: &'a str) -> LocalBoxFuture<'a, u64> {
        Box::pin(async { 0 })
    }

    /// Sets the listener for events of this source; a local source has none.
    fn listen(&self, _listener: Listener) {}

    /// What a reader of the results must know about these files.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    /// The revision of the model, if the source knows it.
    fn revision(&self) -> Option<String> {
        None
    }

    /// SHA-256 of a file, if the source knows it without reading the file.
    fn sha256(&self, _file: &str) -> Option<String> {
        None
    }

    /// Whether [`Files::sha256`] was compared with the whole file; otherwise it is only stated by the source.
    fn is_verified(&self, _file: &str) -> bool {
        true
    }
}

/// The first bytes of what Git leaves in place of a large file that was not fetched.
const POINTER: &[u8] = b"version ";

/// Refuses a file that begins like a Git LFS pointer, as no JSON and no header does.
pub(crate) fn refuse_pointer(file: &str, bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(POINTER) { Err(Error::LfsPointer { file: file.into() }) } else { Ok(()) }
}

/// Reads a whole required file; `hint` is shown if it is missing.
pub async fn read_whole(files: &dyn Files, file: &str, hint: &str) -> Result<Vec<u8>> {
    match files.size(file).await? {
        Some(size) => {
            let bytes = files.read(file, 0..size).await?;
            refuse_pointer(file, &bytes)?;
            Ok(bytes)
        }
        None => Err(Error::MissingFile { file: file.into(), hint: hint.into() }),
    }
}

/// Whether `name` denotes a file directly in the model's folder on every platform.
pub fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0'])
}

/// The files of one folder on disk.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Debug)]
pub struct FolderFiles {
    folder: PathBuf,
}

#[cfg(not(target_arch = "wasm32"))]
impl FolderFiles {
    /// Gives access only to files directly in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, file: &str) -> Result<PathBuf> {
        if !is_plain_name(file) {
            return Err(unreadable(file, "it is not the name of a file within the folder"));
        }
        Ok(self.folder.join(file))
    }

    fn size_now(&self, file: &str) -> Result<Option<u64>> {
        match std::fs::metadata(self.path(file)?) {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => Err(unreadable(file, "it is not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(file, error)),
        }
    }

    fn read_now(&self, file: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let mut open = std::fs::File::open(self.path(file)?).map_err(|error| unreadable(file, error))?;
        let mut bytes = zeroed(file, &range)?;
        open.seek(SeekFrom::Start(range.start))
            .and_then(|_| open.read_exact(&mut bytes))
            .map_err(|error| unreadable(file, error))?;
        Ok(bytes)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Files for FolderFiles {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        Box::pin(async move { self.size_now(file) })
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move { self.read_now(file, range) })
    }
}

/// Files held in memory: bundled models and models generated by tests.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, Cow<'static, [u8]>>,
}

impl MemoryFiles {
    /// Adds or replaces a file.
    pub fn with(mut self, name: impl Into<String>, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        self.files.insert(name.into(), bytes.into());
        self
    }

    fn read_now(&self, file: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let bytes = self.files.get(file).ok_or_else(|| unreadable(file, "there is no such file"))?;
        let within = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        within
            .and_then(|(start, end)| bytes.get(start..end))
            .map(<[u8]>::to_vec)
            .ok_or_else(|| unreadable(file, format!("bytes {range:?} lie outside it")))
    }
}

impl Files for MemoryFiles {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        Box::pin(async move { Ok(self.files.get(file).map(|bytes| bytes.len() as u64)) })
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move { self.read_now(file, range) })
    }
}

fn unreadable(file: &str, why: impl ToString) -> Error {
    Error::UnreadableFile { file: file.into(), why: why.to_string() }
}

/// A zeroed buffer for `range`, or an error if this machine cannot address or allocate it.
#[cfg(not(target_arch = "wasm32"))]
fn zeroed(file: &str, range: &Range<u64>) -> Result<Vec<u8>> {
    let len = usize::try_from(range.end.saturating_sub(range.start)).map_err(|error| unreadable(file, error))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|error| unreadable(file, error))?;
    bytes.resize(len, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_within_the_folder_are_plain() {
        for name in ["model.safetensors", "model-00001-of-00002.safetensors", "..a", "ä b"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "C:x", "a\0"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
