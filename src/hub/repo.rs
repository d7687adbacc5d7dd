//! A repository at a commit, and its files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::HubId;
use crate::platform::digest::BlobDigest;

/// A repository at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repo {
    /// The repository, with the commit as its revision.
    pub id: HubId,
    /// The commit, which links and reports pin.
    pub commit: String,
    /// Its listed files by path.
    pub files: BTreeMap<String, RepoFile>,
    /// Whether its owner must grant access before files can be downloaded, as far as the hub was asked.
    #[serde(default)]
    pub gated: bool,
    /// A sentence if its weights are not those that its revision promises.
    #[serde(default)]
    pub remark: Option<String>,
    /// The revision of the hub's own conversion to safetensors, if it was asked for and there is one.
    #[serde(default)]
    pub conversion: Option<String>,
}

/// A file as the hub lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoFile {
    /// Bytes.
    pub size: u64,
    /// SHA-256; the hub gives it for large files only.
    pub sha256: Option<String>,
    /// Git's hash of the content.
    pub oid: Option<String>,
}

impl Repo {
    /// The storage key of a file; `None` if there is no such file.
    pub fn key(&self, path: &str) -> Option<FileKey> {
        let entry = self.files.get(path)?;
        Some(FileKey {
            repo: self.id.clone(),
            commit: self.commit.clone(),
            path: path.into(),
            size: entry.size,
            blob: entry.sha256.clone().or_else(|| entry.oid.clone()),
        })
    }
}

/// A file of a repository at a commit: the same key always means the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// Repository, without a revision.
    pub repo: HubId,
    /// Commit, 40 hexadecimal digits on the hub.
    pub commit: String,
    /// Path within the repository: plain names joined by `/`, never `.` or `..`.
    pub path: String,
    /// Bytes of the whole file.
    pub size: u64,
    /// The hub's hash: the SHA-256 of a large file, git's hash of a small one.
    pub blob: Option<String>,
}

impl FileKey {
    /// An empty hash of the kind that the hub gives for this file; `None` if it gives none.
    pub(super) fn digest(&self) -> Option<BlobDigest> {
        BlobDigest::like(self.blob.as_deref()?, self.size)
    }
}
