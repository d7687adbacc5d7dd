//! Folders as repositories: found by name and revision, listed with sizes and hashes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::answer::Answer;

/// Most files on one page of a listing.
const PAGE: usize = 1000;
/// From this size on the hub lists a file's SHA-256; for weights and tables always.
const LARGE: u64 = 10 << 20;
const ALWAYS_LARGE: [&str; 3] = ["safetensors", "parquet", "bin"];

/// Where the hub keeps small files.
pub(crate) const CACHE: &str = "api/resolve-cache/";

/// What the revision of a pull request begins with.
const REQUESTS: &str = "refs/pr/";

/// All repositories below a folder, which may change while being served.
pub(crate) struct Repos {
    root: PathBuf,
    /// Cached hashes of unchanged files.
    hashes: Mutex<BTreeMap<PathBuf, (u64, SystemTime, Hashes)>>,
}

/// A repository at a revision.
pub(crate) struct Repo {
    /// Name as in addresses: `OWNER/NAME`, `datasets/OWNER/NAME`.
    name: String,
    folder: PathBuf,
    files: BTreeMap<String, Entry>,
    commit: String,
}

/// A file of a repository.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) size: u64,
    hashes: Hashes,
    large: bool,
}

/// SHA-256 of a file, and its object id in git.
#[derive(Clone)]
struct Hashes {
    sha256: String,
    oid: String,
}

impl Entry {
    /// The ETag: the SHA-256 of a large file, git's object id of a small one.
    pub(crate) fn etag(&self) -> &str {
        if self.large { &self.hashes.sha256 } else { &self.hashes.oid }
    }

    /// Whether it lies on the files' origin.
    pub(crate) fn is_large(&self) -> bool {
        self.large
    }

    /// Its hash in the hub's newer storage, which is another than the SHA-256.
    pub(crate) fn xet_hash(&self) -> String {
        hex(&Sha256::digest(&self.hashes.sha256))
    }

    /// Its line in a listing.
    fn line(&self, path: &str) -> Value {
        let mut line = json!({"type": "file", "oid": self.hashes.oid, "size": self.size, "path": path});
        if self.large {
            line["lfs"] = json!({"oid": self.hashes.sha256, "size": self.size, "pointerSize": 134});
            line["xetHash"] = json!(self.xet_hash());
        }
        line
    }
}

impl Repos {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, hashes: Mutex::default() }
    }

    /// The repository `name` at a branch, tag or commit, or the hub's error response.
    pub(crate) fn find(&self, name: &str, revision: &str) -> Result<Arc<Repo>, Answer> {
        let versions = self.versions(name)?;
        let named = |(version, folder): &(String, PathBuf)| (version == revision).then(|| self.read(name, folder));
        let found = versions.iter().find_map(named).or_else(|| {
            let mut all = versions.iter().map(|(_, folder)| self.read(name, folder));
            all.find(|repo| repo.commit == revision)
        });
        found.map(Arc::new).ok_or_else(|| Answer::error(404, "RevisionNotFound", "Invalid rev id"))
    }

    /// The new name of a renamed repository: a file in place of its folder holds it.
    pub(crate) fn renamed(&self, name: &str) -> Option<String> {
        let is_inside = name.split('/').all(is_plain);
        let new = fs::read_to_string(self.root.join(name)).ok().filter(|_| is_inside)?.trim().to_owned();
        new.split('/').all(is_plain).then_some(new)
    }

    /// The hub's list of a repository's open pull requests: its conversions to safetensors.
    pub(crate) fn discussions(&self, name: &str) -> Result<Value, Answer> {
        let versions = self.versions(name)?;
        let numbers = versions.iter().filter_map(|(revision, _)| revision.strip_prefix(REQUESTS)?.parse::<u64>().ok());
        let request = |num: u64| {
            json!({
                "num": num, "title": "Adding `safetensors` variant of this model", "status": "open",
                "isPullRequest": true, "author": {"name": "SFconvertbot", "type": "user"},
                "repo": {"name": name, "type": "model"},
            })
        };
        let discussions: Vec<Value> = numbers.map(request).collect();
        Ok(json!({"count": discussions.len(), "start": 0, "discussions": discussions}))
    }

    /// Revisions of a repository with their folders, or the hub's error response.
    fn versions(&self, name: &str) -> Result<Vec<(String, PathBuf)>, Answer> {
        let parts: Vec<&str> = name.split('/').collect();
        let plain = parts.len() <= 3 && parts.iter().all(|part| is_plain(part) && !part.contains('@'));
        let versions = if plain { versions(&self.root.join(name)) } else { Vec::new() };
        match versions.is_empty() {
            true => Err(Answer::error(401, "RepoNotFound", "Repository Not Found")),
            false => Ok(versions),
        }
    }

    fn read(&self, name: &str, folder: &Path) -> Repo {
        let mut files = BTreeMap::new();
        self.collect(folder, "", &mut files);
        let mut hash = Sha256::new();
        for (path, entry) in &files {
            hash.update(format!("{path} {} {}\n", entry.size, entry.hashes.sha256));
        }
        let commit = hex(&hash.finalize())[..40].to_owned();
        Repo { name: name.into(), folder: folder.into(), files, commit }
    }

    fn collect(&self, folder: &Path, prefix: &str, files: &mut BTreeMap<String, Entry>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if entry.path().is_dir() {
                self.collect(&entry.path(), &path, files);
            } else if let Some((size, hashes)) = self.hash(&entry.path()) {
                let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
                let large = size >= LARGE || ALWAYS_LARGE.contains(&ending);
                files.insert(path, Entry { size, hashes, large });
            }
        }
    }

    /// Size and hashes of a file.
    fn hash(&self, path: &Path) -> Option<(u64, Hashes)> {
        let found = fs::metadata(path).ok()?;
        let changed = found.modified().ok()?;
        let lock = || self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((size, when, hash)) = lock().get(path)
            && (*size, *when) == (found.len(), changed)
        {
            return Some((*size, hash.clone()));
        }
        let mut sha256 = Sha256::new();
        let mut oid = Sha1::new_with_prefix(format!("blob {}\0", found.len()));
        let mut file = fs::File::open(path).ok()?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match std::io::Read::read(&mut file, &mut buffer).ok()? {
                0 => break,
                read => {
                    sha256.update(&buffer[..read]);
                    oid.update(&buffer[..read]);
                }
            }
        }
        let hashes = Hashes { sha256: hex(&sha256.finalize()), oid: hex(&oid.finalize()) };
        lock().insert(path.into(), (found.len(), changed, hashes.clone()));
        Some((found.len(), hashes))
    }

    /// The repository and file of an address on the files' origin, or in the hub's cache of small files.
    pub(crate) fn addressed(&self, address: &str) -> Option<(Arc<Repo>, String)> {
        let (name, commit, file) = match address.strip_prefix(CACHE) {
            None => {
                let (name, rest) = address.split_once('@')?;
                let (commit, file) = rest.split_once('/')?;
                (name.to_owned(), commit, file)
            }
            Some(rest) => {
                let commit = rest.split('/').find(|part| part.len() == 40)?;
                let (name, file) = rest.split_once(&format!("/{commit}/"))?;
                (name.strip_prefix("models/").unwrap_or(name).to_owned(), commit, file)
            }
        };
        let repo = self.find(&name, commit).ok()?;
        repo.file(file)?;
        Some((repo, file.to_owned()))
    }
}

impl Repo {
    pub(crate) fn commit(&self) -> &str {
        &self.commit
    }

    pub(crate) fn file(&self, path: &str) -> Option<&Entry> {
        self.files.get(path)
    }

    /// The path of a file.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The address of a file on the files' origin.
    pub(crate) fn address(&self, file: &str) -> String {
        format!("{}@{}/{file}", self.name, self.commit)
    }

    /// The address of a small file in the hub's cache.
    pub(crate) fn cache_address(&self, file: &str) -> String {
        let kind = if self.name.starts_with("datasets/") { "" } else { "models/" };
        format!("{CACHE}{kind}{}/{}/{file}", self.name, self.commit)
    }

    /// The hub's response about a revision.
    pub(crate) fn revision(&self, id: &str, is_gated: bool) -> Value {
        let siblings: Vec<Value> = self.files.keys().map(|path| json!({"rfilename": path})).collect();
        let gated = if is_gated { json!("manual") } else { json!(false) };
        json!({"id": id, "sha": self.commit, "private": false, "gated": gated, "siblings": siblings})
    }

    /// A page of the listing of what lies directly in `folder`, and the number of its next page.
    pub(crate) fn tree(&self, folder: &str, page: usize) -> (Value, Option<usize>) {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut lines = BTreeMap::new();
        for (path, entry) in &self.files {
            let Some(rest) = path.strip_prefix(&prefix) else { continue };
            match rest.split_once('/') {
                Some((folder, _)) => {
                    let path = format!("{prefix}{folder}");
                    lines.insert(
                        path.clone(),
                        json!({"type": "directory", "oid": "0".repeat(40), "size": 0, "path": path}),
                    );
                }
                None => {
                    lines.insert(path.clone(), entry.line(path));
                }
            }
        }
        let next = (lines.len() > (page + 1) * PAGE).then_some(page + 1);
        (lines.into_values().skip(page * PAGE).take(PAGE).collect(), next)
    }
}

/// Revisions with their folders: `NAME`, `NAME@REVISION` and `NAME@refs/pr/NUMBER`.
fn versions(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut versions = Vec::new();
    if folder.is_dir() {
        versions.push(("main".to_owned(), folder.to_owned()));
    }
    let prefix = format!("{}@", folder.file_name().unwrap_or_default().to_string_lossy());
    let Some(parent) = folder.parent() else { return versions };
    for (name, path) in folders(parent) {
        let Some(revision) = name.strip_prefix(&prefix) else { continue };
        match revision {
            "refs" => {
                versions.extend(folders(&path.join("pr")).map(|(number, path)| (format!("{REQUESTS}{number}"), path)))
            }
            revision => versions.push((revision.to_owned(), path)),
        }
    }
    versions
}

/// The folders in a folder, with their names.
fn folders(parent: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
}

fn is_plain(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0'])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
