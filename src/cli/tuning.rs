//! The autotune cache of the command line, next to the downloads, so that a device is tuned only once.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use straightedge::backend::gpu::autotune;

use super::hub;

const FILE: &str = "tuning.txt";
/// A longer file is not ours.
const MOST_BYTES: u64 = 1 << 16;

/// Loads the autotune results of earlier runs.
pub(super) fn load() {
    load_from(hub::store().own());
}

/// Saves the autotune results of this run.
pub(super) fn save() {
    if let Some(text) = autotune::to_save() {
        keep_in(hub::store().own(), text.as_bytes());
    }
}

fn load_from(folder: &Path) {
    let mut text = Vec::new();
    let read = File::open(folder.join(FILE)).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    if read.is_ok() {
        autotune::load(&text);
    }
}

/// Writes atomically. If that fails, the next run tunes again.
fn keep_in(folder: &Path, text: &[u8]) {
    let own = folder.join(format!("{FILE}.{}", std::process::id()));
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&own, text));
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
    fn the_cache_is_one_file_and_replaced() {
        let folder = std::env::temp_dir().join(format!("straightedge-tuning-{}", std::process::id()));
        for text in [&b"a"[..], b"b"] {
            keep_in(&folder, text);
            assert_eq!(names(&folder), [FILE]);
            assert_eq!(fs::read(folder.join(FILE)).expect("the file"), text);
        }
        // Neither an uncreatable nor a missing folder is an error.
        keep_in(&folder.join(FILE).join("below a file"), b"a");
        assert_eq!(names(&folder), [FILE]);
        fs::remove_dir_all(&folder).expect("removed");
        load_from(&folder);
    }
}
