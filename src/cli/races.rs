//! Which kernels won on which device, kept beside the downloads, so that a device is raced on once and not in every run.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use straightedge::gpu::race;

use super::hub;

const FILE: &str = "races.txt";
/// A longer file is none of ours.
const MOST_BYTES: u64 = 1 << 16;

/// Tells the engine what earlier runs found out.
pub(super) fn recall() {
    recall_from(hub::store().own());
}

/// Keeps what this run found out.
pub(super) fn keep() {
    if let Some(notes) = race::remembered() {
        keep_in(hub::store().own(), notes.as_bytes());
    }
}

fn recall_from(folder: &Path) {
    let mut notes = Vec::new();
    let read = File::open(folder.join(FILE)).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut notes));
    if read.is_ok() {
        race::recall(&notes);
    }
}

/// As a whole or not at all. Where nothing can be kept, the next run races again, and no measurement is the worse for it.
fn keep_in(folder: &Path, notes: &[u8]) {
    let own = folder.join(format!("{FILE}.{}", std::process::id()));
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&own, notes));
    if kept.and_then(|()| fs::rename(&own, folder.join(FILE))).is_err() {
        let _ = fs::remove_file(&own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_note_is_kept_as_one_file_and_replaced() {
        let folder = std::env::temp_dir().join(format!("straightedge-races-{}", std::process::id()));
        for notes in [&b"a"[..], b"b"] {
            keep_in(&folder, notes);
            assert_eq!(names(&folder), [FILE]);
            assert_eq!(fs::read(folder.join(FILE)).expect("the note"), notes);
        }
        // Neither a folder that cannot be made nor one that is not there is an error.
        keep_in(&folder.join(FILE).join("below a file"), b"a");
        assert_eq!(names(&folder), [FILE]);
        fs::remove_dir_all(&folder).expect("removed");
        recall_from(&folder);
    }
}
