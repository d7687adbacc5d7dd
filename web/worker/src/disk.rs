//! The browser's own file system (OPFS): folders, files read in parts, and files opened exclusively by one worker.

use js_sys::{AsyncIterator, IteratorNext, Promise, Reflect};
use straightedge_api::error::{Error, Result};
use straightedge_web::browser::fetch::{self, reason};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, FileSystemDirectoryHandle, FileSystemFileHandle, FileSystemGetDirectoryOptions, FileSystemGetFileOptions,
    FileSystemHandle, FileSystemHandleKind, FileSystemReadWriteOptions, FileSystemRemoveOptions,
    FileSystemSyncAccessHandle, StorageManager, WorkerGlobalScope,
};

/// A folder.
#[derive(Clone)]
pub(super) struct Folder(FileSystemDirectoryHandle);

/// An entry of a folder.
pub(super) enum Entry {
    /// A folder by its name.
    Folder(String, Folder),
    /// A file by its name.
    File(String, FileSystemFileHandle),
}

/// The browser's storage; `None` where there is none, as outside a secure context.
pub(super) fn manager() -> Option<StorageManager> {
    let navigator = js_sys::global().unchecked_into::<WorkerGlobalScope>().navigator();
    let storage = Reflect::get(&navigator, &"storage".into()).ok()?;
    (!storage.is_undefined()).then(|| storage.unchecked_into())
}

impl Folder {
    /// The root of the site's files.
    pub(super) async fn root() -> Result<Self> {
        let refused = |why: String| Error::NoStorage { why };
        let manager = manager().ok_or_else(|| refused("it is not a secure context".into()))?;
        let has_files = Reflect::has(&manager, &"getDirectory".into()).unwrap_or(false);
        if !has_files {
            return Err(refused("its browser has no private file system".into()));
        }
        let root = JsFuture::from(manager.get_directory()).await.map_err(|why| refused(reason(&why)))?;
        Ok(Self(root.unchecked_into()))
    }

    /// The folder of this name, created if missing.
    pub(super) async fn make(&self, name: &str) -> Result<Self> {
        let options = FileSystemGetDirectoryOptions::new();
        options.set_create(true);
        let folder = JsFuture::from(self.0.get_directory_handle_with_options(name, &options)).await;
        folder.map(|folder| Self(folder.unchecked_into())).map_err(|why| refused(name, &why))
    }

    /// Its entries; unreadable ones are left out.
    pub(super) async fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        let values = self.0.values();
        while let Some(entry) = next(&values).await {
            let handle: FileSystemHandle = entry.unchecked_into();
            let name = handle.name();
            found.push(match handle.kind() {
                FileSystemHandleKind::Directory => Entry::Folder(name, Self(handle.unchecked_into())),
                _ => Entry::File(name, handle.unchecked_into()),
            });
        }
        found
    }

    /// Creates an empty file for writing.
    pub(super) async fn create(&self, name: &str) -> Result<(FileSystemFileHandle, OwnFile)> {
        let (handle, file) = self.own(name).await?;
        file.truncate()?;
        Ok((handle, file))
    }

    /// Opens an existing file, or creates it, exclusively for this worker.
    pub(super) async fn own(&self, name: &str) -> Result<(FileSystemFileHandle, OwnFile)> {
        let options = FileSystemGetFileOptions::new();
        options.set_create(true);
        let opened = async {
            let handle = JsFuture::from(self.0.get_file_handle_with_options(name, &options)).await?;
            let handle: FileSystemFileHandle = handle.unchecked_into();
            let access = JsFuture::from(handle.create_sync_access_handle()).await?;
            Ok((handle, OwnFile { access: access.unchecked_into(), name: name.into() }))
        };
        opened.await.map_err(|why: JsValue| refused(name, &why))
    }

    /// The content of a file; `None` if it does not exist.
    pub(super) async fn read(&self, name: &str) -> Option<Vec<u8>> {
        let file = JsFuture::from(self.0.get_file_handle(name)).await.ok()?;
        let blob = blob(&file.unchecked_into()).await?;
        fetch::bytes(name, &blob, 0, blob.size() as u64).await.ok()
    }

    /// Removes a file, or a folder with its content; nothing happens if it does not exist.
    pub(super) async fn remove(&self, name: &str) {
        let options = FileSystemRemoveOptions::new();
        options.set_recursive(true);
        let _ = JsFuture::from(self.0.remove_entry_with_options(name, &options)).await;
    }

    /// Bytes of all files below.
    pub(super) async fn bytes(&self) -> u64 {
        let (mut bytes, mut open) = (0, vec![self.clone()]);
        while let Some(folder) = open.pop() {
            for entry in folder.entries().await {
                match entry {
                    Entry::Folder(_, folder) => open.push(folder),
                    Entry::File(_, file) => bytes += blob(&file).await.map_or(0, |blob| blob.size() as u64),
                }
            }
        }
        bytes
    }
}

/// A file that no other worker can open; it is closed when its owner is dropped.
pub(super) struct OwnFile {
    access: FileSystemSyncAccessHandle,
    name: String,
}

impl OwnFile {
    /// Writes bytes at a place.
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        match self.access.write_with_u8_array_and_options(bytes, &place(at)) {
            Ok(written) if written as usize == bytes.len() => Ok(()),
            outcome => {
                // A partial write must not be taken for a complete one.
                let _ = self.access.truncate_with_f64(at as f64);
                Err(outcome.map_or_else(
                    |why| refused(&self.name, &why),
                    |written| Error::StorageFull {
                        why: format!("only {written} of {} bytes were written", bytes.len()),
                    },
                ))
            }
        }
    }

    /// Reads up to the end of the file or of `bytes`, and returns the number of bytes read.
    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<usize> {
        let read = self.access.read_with_u8_array_and_options(bytes, &place(at));
        read.map(|read| read as usize).map_err(|why| refused(&self.name, &why))
    }

    /// Empties the file.
    pub(super) fn truncate(&self) -> Result<()> {
        self.access.truncate_with_u32(0).map_err(|why| refused(&self.name, &why))
    }

    /// Writes everything to disk.
    pub(super) fn flush(&self) -> Result<()> {
        self.access.flush().map_err(|why| refused(&self.name, &why))
    }
}

fn place(at: u64) -> FileSystemReadWriteOptions {
    let options = FileSystemReadWriteOptions::new();
    options.set_at(at as f64);
    options
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let _ = self.access.flush();
        self.access.close();
    }
}

/// A snapshot of a file, to be read in parts; `None` if the browser refuses.
pub(super) async fn blob(file: &FileSystemFileHandle) -> Option<Blob> {
    JsFuture::from(file.get_file()).await.ok().map(JsCast::unchecked_into)
}

async fn next(values: &AsyncIterator) -> Option<JsValue> {
    let promise: Promise = values.next().ok()?;
    let next: IteratorNext = JsFuture::from(promise).await.ok()?.unchecked_into();
    (!next.done()).then(|| next.value())
}

/// Any failed write counts as full storage to the engine, which then continues without storage.
fn refused(name: &str, why: &JsValue) -> Error {
    Error::StorageFull { why: format!("{name}: {}", reason(why)) }
}
