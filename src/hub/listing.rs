//! Lists a repository's files at a commit, with sizes and hashes, from the hub's untrusted responses.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::client::{Hub, not_the_file};
use super::files::HubFiles;
use super::id::{HubId, is_commit};
use super::repo::{Repo, RepoFile};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::report::Warning;
use crate::weights::source::is_plain_name;

/// Most bytes of one response.
const MAX_ANSWER: usize = 8 << 20;
/// Most pages of a listing; the hub puts a thousand files on one.
const MAX_PAGES: usize = 10;

impl Hub {
    /// A model's files at the commit of its revision.
    ///
    /// A commit never changes, so a known one is not requested again. Without a network, the last known state of a
    /// branch is used, with a warning.
    ///
    /// # Errors
    /// A missing or restricted repository, and network errors.
    pub async fn open(&self, id: &HubId) -> Result<HubFiles> {
        self.open_folder(id, "").await
    }

    /// [`Hub::open`] with only the files directly in `folder` of the repository, by their full paths.
    pub(super) async fn open_folder(&self, id: &HubId, folder: &str) -> Result<HubFiles> {
        let known = self.store().recall(id).await?;
        let listed = |repo: &&Repo| repo.files.keys().any(|path| folder_of(path) == folder);
        let pinned = |repo: &&Repo| is_commit(&repo.commit) && id.revision() == Some(&repo.commit);
        if let Some(repo) = known.as_ref().filter(listed).filter(pinned) {
            return Ok(HubFiles::new(self.clone(), repo.clone()));
        }
        let mut repo = match (self.list(id, folder).await, known.as_ref().filter(listed)) {
            (Err(Error::Network { why, .. }), Some(known)) => {
                let commit = &known.commit;
                let text = format!("the hub cannot be reached ({why}); using the last known state, commit {commit}");
                self.tell(Event::Warning(Warning { code: "offline".into(), block: None, text }));
                known.clone()
            }
            (listed, _) => listed?,
        };
        // Keep what is known of other folders of the same commit.
        for (path, entry) in known.filter(|known| known.commit == repo.commit).into_iter().flat_map(|known| known.files)
        {
            repo.files.entry(path).or_insert(entry);
        }
        for id in [id, &repo.id] {
            match self.store().remember(id, &repo).await {
                // A cache that can only be read still serves what it holds.
                Err(Error::UnwritableFile { .. }) => (),
                remembered => remembered?,
            }
        }
        Ok(HubFiles::new(self.clone(), repo))
    }

    async fn list(&self, id: &HubId, folder: &str) -> Result<Repo> {
        let what = id.to_string();
        let (json, _) = self.document(&what, self.endpoint().revision_url(id), MAX_ANSWER).await?;
        let Revision { sha: commit } = parse(&what, &json)?;
        let pinned = id.at(&commit).map_err(|_| not_the_file(&what, "its commit is no name of one".into()))?;
        let mut files = BTreeMap::new();
        let mut next = Some(self.endpoint().tree_url(id, &commit, folder));
        for _ in 0..MAX_PAGES {
            let Some(url) = next else { break };
            let (json, link) = self.document(&what, url, MAX_ANSWER).await?;
            let entries: Vec<Listed> = parse(&what, &json)?;
            files.extend(entries.into_iter().filter_map(|listed| listed.entry(folder)));
            next = link.as_deref().and_then(next_page).filter(|url| url.starts_with(self.endpoint().as_str()));
        }
        Ok(Repo { id: pinned, commit, files })
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The hub's response about a revision.
#[derive(Deserialize)]
struct Revision {
    sha: String,
}

/// An entry of a listing.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    oid: Option<String>,
    #[serde(default)]
    lfs: Option<Lfs>,
}

/// The hub's storage of a large file.
#[derive(Deserialize)]
struct Lfs {
    oid: String,
    size: u64,
}

impl Listed {
    /// The path and metadata if it is a file directly in `folder`; `None` for all else.
    fn entry(self, folder: &str) -> Option<(String, RepoFile)> {
        let name =
            if folder.is_empty() { &self.path[..] } else { self.path.strip_prefix(folder)?.strip_prefix('/')? };
        if self.kind != "file" || !is_plain_name(name) || name.chars().any(char::is_control) {
            return None;
        }
        let hash = |hash: String, digits| {
            (hash.len() == digits && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .then(|| hash.to_ascii_lowercase())
        };
        let size = self.lfs.as_ref().map_or(self.size, |lfs| lfs.size);
        let sha256 = self.lfs.and_then(|lfs| hash(lfs.oid, 64));
        let oid = self.oid.and_then(|oid| hash(oid, 40));
        Some((self.path, RepoFile { size, sha256, oid }))
    }
}

fn parse<'a, T: Deserialize<'a>>(what: &str, json: &'a [u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| not_the_file(what, format!("not a list of files: {error}")))
}

/// The address in `<URL>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    Some(next.trim().strip_prefix('<')?.split_once('>')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_gives_plain_files_and_nothing_that_pretends() {
        let json = r#"[
            {"type":"file","oid":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","size":665,"path":"config.json"},
            {"type":"file","oid":"x","size":134,"path":"model.safetensors","lfs":{"oid":"BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB","size":548105171,"pointerSize":134}},
            {"type":"directory","oid":"y","size":0,"path":"onnx"},
            {"type":"file","size":1,"path":"../../.ssh/authorized_keys"},
            {"type":"file","size":1,"path":"a/b"},
            {"type":"file","size":1,"path":"C:\\x"},
            {"type":"file","size":1,"path":".."}
        ]"#;
        let entries: Vec<Listed> = parse("a/b", json.as_bytes()).unwrap();
        let files: BTreeMap<_, _> = entries.into_iter().filter_map(|listed| listed.entry("")).collect();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["config.json", "model.safetensors"]);
        assert_eq!((files["config.json"].size, files["config.json"].sha256.clone()), (665, None));
        let weights = &files["model.safetensors"];
        assert_eq!((weights.size, weights.sha256.as_deref()), (548_105_171, Some(&*"b".repeat(64))));
    }

    #[test]
    fn a_listing_of_a_folder_keeps_whole_paths() {
        let json = r#"[{"type":"file","size":3,"path":"raw/test.parquet"},{"type":"file","size":3,"path":"raw/x/y"},{"type":"file","size":3,"path":"rawer"}]"#;
        let entries: Vec<Listed> = parse("a/b", json.as_bytes()).unwrap();
        let files: Vec<_> =
            entries.into_iter().filter_map(|listed| listed.entry("raw")).map(|(path, _)| path).collect();
        assert_eq!(files, ["raw/test.parquet"]);
    }

    #[test]
    fn answers_that_are_no_listings_are_refused() {
        let twice = r#"[{"type":"file","path":"a","path":"b"}]"#;
        for json in ["", "{}", "<html>", r#"[{"path":1}]"#, r#"[{"type":"file","path":"a","size":-1}]"#, twice] {
            assert!(matches!(parse::<Vec<Listed>>("a/b", json.as_bytes()), Err(Error::NotTheFile { .. })), "{json}");
        }
        assert_eq!(next_page(r#"<https://h/x?cursor=1>; rel="next""#).as_deref(), Some("https://h/x?cursor=1"));
        assert_eq!(next_page(r#"<https://h/x>; rel="prev""#), None);
    }
}
