//! Hashes of scripts, styles and modules in the files that load them, by which a browser refuses other content at the
//! first visit too.
//!
//! The sources have `{sha256 NAME}` in their place.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::modules::Effort;

/// Files that name others, each after those that it names.
const FILES: [&str; 4] = ["early.js", "boot.js", "engine.js", "index.html"];
/// How a place for a hash begins.
const PLACE: &str = "{sha256 ";

/// Fills the places in `dist`. A quick build leaves them empty, because its page is served before there is an engine.
pub(crate) fn write(dist: &Path, effort: Effort) -> Result<()> {
    let integrity = |name: &str| match effort {
        Effort::Full => Ok(format!("sha256-{}", hash(&read(&dist.join(name))?))),
        Effort::Quick => Ok(String::new()),
    };
    FILES.iter().map(|name| dist.join(name)).try_for_each(|file| {
        let text = String::from_utf8(read(&file)?).with_context(|| format!("{} is no text", file.display()))?;
        let filled = filled(&text, &integrity).with_context(|| format!("{} is not complete", file.display()))?;
        fs::write(&file, filled).with_context(|| format!("{} cannot be written", file.display()))
    })
}

/// SHA-256 in base64, as browsers expect it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// A text with its places filled.
fn filled(text: &str, integrity: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let mut parts = text.split(PLACE);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').context("a place for a hash has no end")?;
        filled += &(integrity(name)? + rest);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{root, target};

    /// The names of the files whose hashes a source has places for.
    fn named(source: &str) -> Vec<String> {
        source.split(PLACE).skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect()
    }

    #[test]
    fn what_the_page_loads_is_named_with_its_hash() {
        let source = |name: &str| fs::read_to_string(root().join(name)).expect("a source");
        assert_eq!(named(&source("web/public/early.js")), ["page_bg.wasm"]);
        assert_eq!(named(&source("web/public/boot.js")), ["page_bg.wasm"]);
        assert_eq!(named(&source("web/public/engine.js")), ["table.wasm", "worker_bg.wasm"]);
        let page = source("index.html");
        for kind in ["<script ", "<link rel=\"stylesheet\"", "<link rel=\"modulepreload\""] {
            for tag in page.split(kind).skip(1).filter_map(|rest| rest.split('>').next()) {
                let file = tag.split("\"./").nth(1).and_then(|rest| rest.split('"').next()).expect("a file");
                assert!(tag.contains(&format!("integrity=\"{PLACE}{file}}}\"")), "{kind}{tag}");
            }
        }
        assert_eq!(named(&page), ["style.css", "early.js", "page.js", "boot.js"]);
    }

    #[test]
    fn hashes_are_of_what_is_served_and_a_quick_build_has_none() {
        let dist = target("tmp/integrity");
        fs::create_dir_all(&dist).expect("a folder");
        let put = |name: &str, text: &str| fs::write(dist.join(name), text).expect("a file");
        let write = |effort| {
            put("early.js", "");
            put("boot.js", "load('{sha256 page_bg.wasm}')");
            put("engine.js", "");
            put("index.html", "<script integrity=\"{sha256 boot.js}\"></script>");
            super::write(&dist, effort)
        };
        let text = |name: &str| fs::read_to_string(dist.join(name)).expect("a file");
        write(Effort::Quick).expect("nothing is hashed");
        assert_eq!(text("boot.js"), "load('')");
        assert_eq!(text("index.html"), "<script integrity=\"\"></script>");
        put("page_bg.wasm", "");
        write(Effort::Full).expect("all files are there");
        let boot = "load('sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')";
        assert_eq!(text("boot.js"), boot);
        let of_boot = hash(boot.as_bytes());
        assert_eq!(text("index.html"), format!("<script integrity=\"sha256-{of_boot}\"></script>"));
        fs::remove_file(dist.join("page_bg.wasm")).expect("the file is there");
        let refusal = format!("{:#}", write(Effort::Full).expect_err("a file is missing"));
        assert!(refusal.contains("page_bg.wasm"), "{refusal}");
    }

    #[test]
    fn a_place_without_an_end_is_refused() {
        assert!(filled("a {sha256 b", &|_| Ok(String::new())).is_err());
    }
}
