//! The service worker: inserts the build's file list before the script, which is the same for all builds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use straightedge_api::atlas::INDEX;

use crate::bundle::files;
use crate::command::root;
use crate::integrity::hash;
use crate::modules::Effort;

/// Larger models are cached when first used, not at the first visit.
const AT_ONCE: usize = 512 << 10;
/// Files that a visit does not need; cached when first requested.
const APART: [&str; 3] = ["licences.txt", "preview.png", "robots.txt"];

/// Pre-rendered views, each for the links that open it; the page's module shows the same.
const VIEWS: &str = "views/";

/// Reports of the atlas; only the index is needed to list them.
const ATLAS: &str = "data/atlas/";

/// Writes `sw.js` for the files in `dist`. A quick build caches nothing, so that every change shows at once.
pub(crate) fn write(dist: &Path, effort: Effort) -> Result<()> {
    let listed = if effort == Effort::Full { list(dist)? } else { Listed::default() };
    let script = fs::read_to_string(root().join("web/sw.js")).context("web/sw.js cannot be read")?;
    fs::write(dist.join("sw.js"), format!("{}{script}", listed.declarations())).context("sw.js cannot be written")
}

/// The files of a build.
#[derive(Debug, Default)]
struct Listed {
    /// SHA-256 in base64 by path; the page itself is the empty path, which hosts serve without a redirect.
    files: BTreeMap<String, String>,
    /// Files that are cached when first used.
    later: Vec<String>,
}

impl Listed {
    fn add(&mut self, path: String, bytes: &[u8]) {
        let path = if path == "index.html" { String::new() } else { path };
        let is_large = path.starts_with("models/") && bytes.len() > AT_ONCE;
        let is_of_atlas = path.starts_with(ATLAS) && !path.ends_with(INDEX);
        if is_large || is_of_atlas || path.starts_with(VIEWS) || APART.contains(&path.as_str()) {
            self.later.push(path.clone());
        }
        self.files.insert(path, hash(bytes));
    }

    fn declarations(&self) -> String {
        let (files, later) = (serde_json::json!(self.files), serde_json::json!(self.later));
        format!("const FILES = {files};\nconst LATER = {later};\n\n")
    }
}

fn list(dist: &Path) -> Result<Listed> {
    let mut listed = Listed::default();
    for file in files(dist)? {
        let bytes = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let parts = file.strip_prefix(dist)?.components().map(|part| part.as_os_str().to_string_lossy());
        listed.add(parts.collect::<Vec<_>>().join("/"), &bytes);
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_with_its_hash_and_what_few_need_waits() {
        let mut listed = Listed::default();
        listed.add("index.html".into(), b"");
        listed.add("models/small/config.json".into(), b"{}");
        listed.add("models/large/model.safetensors".into(), &vec![0; AT_ONCE + 1]);
        listed.add("data/atlas/index.json".into(), b"{}");
        listed.add("data/atlas/a-model.json".into(), b"{}");
        listed.add("views/losses.html".into(), b"<main>");
        listed.add("robots.txt".into(), b"User-agent: *");
        assert_eq!(listed.files[""], "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "SHA-256 of nothing");
        let later = ["models/large/model.safetensors", "data/atlas/a-model.json", "views/losses.html", "robots.txt"];
        assert_eq!(listed.later, later);
        let script = listed.declarations();
        assert!(script.starts_with(r#"const FILES = {"":"47DEQ"#), "{script}");
        assert!(script.contains(&format!("const LATER = {};", serde_json::json!(later))), "{script}");
    }
}
