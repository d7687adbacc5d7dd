//! Detects changed sources by polling twice a second, without services of the operating system.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::bundle::files;
use crate::command::root;

/// The sources of dist/.
const SOURCES: [&str; 6] = ["Cargo.toml", "Cargo.lock", "index.html", "src", "shaders", "web"];

/// A snapshot of the sources.
#[derive(PartialEq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, SystemTime>);

impl Snapshot {
    /// The current sources. Files that vanish meanwhile do not count.
    pub(crate) fn take() -> Self {
        let sources = SOURCES
            .iter()
            .map(|name| root().join(name))
            .flat_map(|path| if path.is_dir() { files(&path).unwrap_or_default() } else { vec![path] });
        let changed = |path: PathBuf| Some((fs::metadata(&path).ok()?.modified().ok()?, path));
        Self(sources.filter_map(changed).map(|(time, path)| (path, time)).collect())
    }

    /// Waits until the sources differ from these.
    pub(crate) fn wait_for_change(&self) {
        while Self::take() == *self {
            sleep(Duration::from_millis(500));
        }
    }
}
