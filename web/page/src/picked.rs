//! Files that the user chose or dropped, with their paths.

use js_sys::{Array, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{DataTransfer, File, FileList, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry};

/// Deeper folders belong to no model.
const DEEPEST: usize = 4;
/// More files than any model has, as when a whole disk was dropped.
const MOST: usize = 2000;

/// One file and its path, starting at the chosen folder.
#[derive(Clone)]
pub(crate) struct Picked {
    pub(crate) path: String,
    pub(crate) file: File,
}

/// The files of an input element.
pub(crate) fn from_list(list: Option<FileList>) -> Vec<Picked> {
    let files = list.map(|list| (0..list.length()).filter_map(|at| list.get(at)).collect::<Vec<_>>());
    files.unwrap_or_default().into_iter().map(|file| Picked { path: path(&file), file }).collect()
}

/// The dropped items: file system entries, or plain files where the source has none.
///
/// The browser discards them once the drop is handled, so this must be called at once.
pub(crate) fn dropped(transfer: &DataTransfer) -> (Vec<FileSystemEntry>, Vec<Picked>) {
    let items = transfer.items();
    let entries: Vec<_> = (0..items.length()).filter_map(|at| items.get(at)?.webkit_get_as_entry().ok()?).collect();
    let plain = if entries.is_empty() { from_list(transfer.files()) } else { Vec::new() };
    (entries, plain)
}

/// The files below dropped entries; unreadable ones are left out.
pub(crate) async fn files_below(entries: Vec<FileSystemEntry>) -> Vec<Picked> {
    let mut open: Vec<_> = entries.into_iter().rev().map(|entry| (entry, 0)).collect();
    let mut found = Vec::new();
    while let Some((entry, depth)) = open.pop() {
        if found.len() >= MOST {
            break;
        }
        if entry.is_directory() && depth < DEEPEST {
            let children = children(&entry.unchecked_into()).await;
            open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        } else if entry.is_file() {
            let path = entry.full_path().trim_start_matches('/').to_string();
            if let Some(file) = file(&entry.unchecked_into()).await {
                found.push(Picked { path, file });
            }
        }
    }
    found
}

/// Browsers return a folder in portions, the last of them empty.
async fn children(folder: &FileSystemDirectoryEntry) -> Vec<FileSystemEntry> {
    let reader = folder.create_reader();
    let mut all = Vec::new();
    loop {
        let portion = Promise::new(&mut |done, failed| {
            let _ = reader.read_entries_with_callback_and_callback(&done, &failed);
        });
        let Ok(portion) = JsFuture::from(portion).await else { return all };
        let portion = Array::from(&portion);
        if portion.length() == 0 || all.len() >= MOST {
            return all;
        }
        all.extend(portion.iter().map(JsCast::unchecked_into::<FileSystemEntry>));
    }
}

async fn file(entry: &FileSystemFileEntry) -> Option<File> {
    let file = Promise::new(&mut |done, failed| entry.file_with_callback_and_callback(&done, &failed));
    JsFuture::from(file).await.ok().map(JsCast::unchecked_into)
}

fn path(file: &File) -> String {
    let relative = Reflect::get(file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string());
    relative.filter(|path| !path.is_empty()).unwrap_or_else(|| file.name())
}
