//! What a repository holds at a commit: its files with sizes and hashes, read from the hub's untrusted answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::HubId;
use super::store::FileKey;

/// A repository at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repo {
    /// The repository, with the commit as its revision.
    pub id: HubId,
    /// The commit, which links and reports pin.
    pub commit: String,
    /// Its files by path, as far as they were listed.
    pub files: BTreeMap<String, Entry>,
}

/// A file as the hub lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Bytes.
    pub size: u64,
    /// SHA-256, which the hub tells of large files only.
    pub sha256: Option<String>,
}

impl Repo {
    /// Under which a file is stored; `None` where there is no such file.
    pub fn key(&self, path: &str) -> Option<FileKey> {
        let entry = self.files.get(path)?;
        Some(FileKey {
            repo: self.id.clone(),
            commit: self.commit.clone(),
            path: path.into(),
            size: entry.size,
            sha256: entry.sha256.clone(),
        })
    }
}
