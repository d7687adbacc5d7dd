//! Lists a repository's files at a commit, with sizes and hashes, from the hub's untrusted responses.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::client::{Hub, not_the_file};
use super::files::HubFiles;
use super::id::{HubId, is_commit};
use super::repo::{Repo, RepoFile};
use super::step;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::report::{Warning, WarningKind};
use crate::weights::source::is_plain_name;

/// Most bytes of one response.
const MAX_ANSWER: usize = 8 << 20;
/// Most pages of a listing; the hub puts a thousand files on one.
const MAX_PAGES: usize = 10;

impl Hub {
    /// A model's files at the commit of its revision.
    ///
    /// A commit never changes, so a known one is not requested again, and a branch once in a visit. Without a network,
    /// the last known state of a branch is used, with a warning. A main branch with PyTorch's weights alone is replaced by
    /// the hub's conversion to safetensors, if there is one.
    ///
    /// # Errors
    /// A missing or restricted repository, and network errors.
    pub async fn open(&self, id: &HubId) -> Result<HubFiles> {
        Ok(self.converted(id, self.open_folder(id, "").await?).await)
    }

    /// [`Hub::open`] with only the files directly in `folder` of the repository, by their full paths.
    pub(super) async fn open_folder(&self, id: &HubId, folder: &str) -> Result<HubFiles> {
        let known = self.store().load_repo(id).await?;
        let listed = |repo: &Repo| repo.files.keys().any(|path| folder_of(path) == folder);
        let pinned = |repo: &Repo| is_commit(&repo.commit) && id.revision() == Some(&repo.commit);
        let stored = known.clone().filter(&listed);
        if let Some(repo) = stored.clone().filter(pinned) {
            return Ok(HubFiles::new(self.clone(), repo));
        }
        if let Some(repo) = self.visit().repo(&self.listed_at(id, folder)) {
            self.save_repo(id, &repo).await?;
            return Ok(HubFiles::new(self.clone(), repo));
        }
        let mut repo = match (self.list(id, folder).await, stored) {
            (Err(Error::Network { why, .. }), Some(known)) => {
                let commit = known.commit.clone();
                self.emit(Event::Warning(Warning::new(&WarningKind::Offline { why, commit })));
                return Ok(HubFiles::new(self.clone(), known));
            }
            (listed, _) => listed?,
        };
        // Keep what is known of other folders of the same commit.
        for (path, entry) in known.filter(|known| known.commit == repo.commit).into_iter().flat_map(|known| known.files)
        {
            repo.files.entry(path).or_insert(entry);
        }
        for id in [id, &repo.id] {
            // A restricted one is asked for again: its owner may have opened it in the meantime.
            if !repo.gated {
                self.visit().keep_repo(self.listed_at(id, folder), &repo);
            }
            self.save_repo(id, &repo).await?;
        }
        Ok(HubFiles::new(self.clone(), repo))
    }

    async fn save_repo(&self, id: &HubId, repo: &Repo) -> Result<()> {
        match self.store().save_repo(id, repo).await {
            // A read-only cache still serves its files.
            Err(Error::UnwritableFile { .. }) => Ok(()),
            remembered => remembered,
        }
    }

    /// The address that stands for a listing among the answers of a visit.
    pub(super) fn listed_at(&self, id: &HubId, folder: &str) -> String {
        self.endpoint().tree_url(id, id.revision_or_main(), folder)
    }

    /// Asks for the commit of a branch, and for its files.
    async fn list(&self, id: &HubId, folder: &str) -> Result<Repo> {
        let what = id.to_string();
        let Revision { sha: commit, gated } = match id.revision().filter(|revision| is_commit(revision)) {
            Some(commit) => Revision { sha: commit.into(), gated: Value::Null },
            None => self.revision(id).await?,
        };
        let pinned = id.at(&commit).ok().filter(|_| is_commit(&commit));
        let pinned = pinned.ok_or_else(|| not_the_file(&what, "its commit is not one of 40 digits".into()))?;
        let files = self.tree(id, &commit, folder).await?;
        let remark = if folder.is_empty() { self.same_weights_notice(id, &files).await } else { None };
        Ok(Repo { id: pinned, commit, files, gated: is_gated(&gated), remark, conversion: None })
    }

    async fn revision(&self, id: &HubId) -> Result<Revision> {
        let what = id.to_string();
        let (json, _) = self.document(&what, self.endpoint().revision_url(id), MAX_ANSWER).await?;
        parse(&what, &json)
    }

    /// Whether the owner must grant access, asked now; false if the hub does not answer.
    pub(super) async fn is_gated(&self, id: &HubId) -> bool {
        self.revision(id).await.is_ok_and(|revision| is_gated(&revision.gated))
    }

    /// The files directly in `folder`, over all pages of the listing.
    async fn tree(&self, id: &HubId, revision: &str, folder: &str) -> Result<BTreeMap<String, RepoFile>> {
        let (what, first) = (id.to_string(), self.endpoint().tree_url(id, revision, folder));
        let (mut files, mut next) = (BTreeMap::new(), Some(first.clone()));
        for _ in 0..MAX_PAGES {
            let Some(url) = next else { break };
            let (json, link) = self.document(&what, url, MAX_ANSWER).await?;
            let entries: Vec<Listed> = parse(&what, &json)?;
            files.extend(entries.into_iter().filter_map(|listed| listed.entry(folder)));
            // Only the query of the link is used: a mirror that forwards answers names the hub as host.
            next = link.as_deref().and_then(next_page).map(|query| format!("{first}?{query}"));
        }
        Ok(files)
    }

    /// A sentence if a checkpoint has the weights of the main branch, listed once in a visit, or of a known revision.
    async fn same_weights_notice(&self, id: &HubId, files: &BTreeMap<String, RepoFile>) -> Option<String> {
        let revision = id.checkpoint()?;
        let main = id.at("main").ok()?;
        let url = self.listed_at(&main, "");
        if self.visit().listing(&url).is_none() {
            let listed = match self.visit().repo(&url) {
                Some(repo) => Some(repo.files),
                None => self.tree(&main, "main", "").await.ok(),
            };
            self.visit().keep_listing(url.clone(), listed.as_ref());
        }
        let main = self.visit().listing(&url).flatten();
        let known = self.store().revisions(id).await;
        let known = known.iter().filter(|(name, _)| *name != revision && (name != "main" || main.is_none()));
        let others = main.iter().map(|files| ("main", files));
        step::same_weights_notice(revision, files, others.chain(known.map(|(name, repo)| (&**name, &repo.files))))
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The hub's response about a revision.
#[derive(Deserialize)]
struct Revision {
    sha: String,
    #[serde(default)]
    gated: Value,
}

/// Reads `gated: false | "auto" | "manual"`.
fn is_gated(gated: &Value) -> bool {
    !matches!(gated, Value::Null | Value::Bool(false))
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

/// The query of the address in `<URL>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let (_, query) = next.trim().strip_prefix('<')?.split_once('>')?.0.split_once('?')?;
    query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#').then_some(query)
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
        assert_eq!(next_page(r#"<https://h/x?limit=1&cursor=a%3D>; rel="next""#), Some("limit=1&cursor=a%3D"));
        for other in
            [r#"<https://h/x?a>; rel="prev""#, r#"<https://h/x>; rel="next""#, r#"<https://h/?a b>; rel="next""#]
        {
            assert_eq!(next_page(other), None, "{other}");
        }
    }

    #[test]
    fn access_is_restricted_unless_the_hub_says_it_is_not() {
        for (json, gated) in [(r#""auto""#, true), (r#""manual""#, true), ("false", false), ("null", false)] {
            let revision: Revision = parse("a/b", format!(r#"{{"sha":"x","gated":{json}}}"#).as_bytes()).unwrap();
            assert_eq!(is_gated(&revision.gated), gated, "{json}");
        }
        let revision: Revision = parse("a/b", br#"{"sha":"x"}"#).unwrap();
        assert!(!is_gated(&revision.gated), "a mirror may not say");
    }
}
