//! `cargo xtask reproduce`: builds the site twice, in clones at different paths, and compares all files.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::{Context, Result, bail};

use crate::bundle::files;
use crate::command::{cargo, output, root, run};
use crate::integrity::hash;
use crate::wasm;

/// Names of the clones. Their lengths differ too, so that an embedded path shifts what follows it.
const CLONES: [&str; 2] = ["one", "another-of-a-longer-name"];

/// Builds HEAD in two clones and fails where a file differs; the clones then stay.
pub(crate) fn reproduce() -> Result<()> {
    // Without it, a build goes on and gives other bytes.
    if !wasm::has_wasm_opt() {
        bail!("wasm-opt is missing, so these would not be the files of a release; install Node.js with npm");
    }
    let head = output(Command::new("git").current_dir(root()).args(["rev-parse", "HEAD"]));
    let head = head.context("the commit to build is unknown; run this in a clone of the repository")?;
    let folder = env::temp_dir().join(format!("straightedge-reproduce-{}", process::id()));
    let [one, other] = CLONES.map(|name| folder.join(name));
    let (one, other) = (hashes(&build(&head, &one)?)?, hashes(&build(&head, &other)?)?);
    let differing = differing(&one, &other);
    if !differing.is_empty() {
        bail!("two builds of {head} in {} differ in {}", folder.display(), differing.join(", "));
    }
    println!("two builds of {head} are the same in all {} files", one.len());
    fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be deleted", folder.display()))
}

/// Clones `commit` into `folder`, builds it there from nothing, and returns the site's folder.
fn build(commit: &str, folder: &Path) -> Result<PathBuf> {
    run(Command::new("git").args(["clone", "--quiet", "--no-checkout"]).arg(root()).arg(folder))?;
    run(Command::new("git").current_dir(folder).args(["checkout", "--quiet", "--detach", commit]))?;
    run(cargo().current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target")).args(["xtask", "build"]))?;
    if !wasm::script(folder).exists() {
        bail!("wasm-opt could not be installed in {}, which gives other files", folder.display());
    }
    Ok(folder.join("dist"))
}

/// SHA-256 of every file by path.
fn hashes(dist: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let entry = |file: PathBuf| {
        let bytes = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        Ok((file.strip_prefix(dist)?.to_owned(), hash(&bytes)))
    };
    files(dist)?.into_iter().map(entry).collect()
}

/// Files that differ, or that only one of both has.
fn differing(one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let all: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|name| one.get(*name) != other.get(*name)).map(|name| name.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::target;

    #[test]
    fn files_that_differ_or_are_missing_are_named() {
        let folder = target("tmp/reproduce");
        let made = |name: &str, contents: [(&str, &str); 3]| {
            let dist = folder.join(name);
            for (file, content) in contents {
                let file = dist.join(file);
                fs::create_dir_all(file.parent().expect("it is within a folder")).expect("a folder");
                fs::write(file, content).expect("a file");
            }
            hashes(&dist).expect("all files can be read")
        };
        let one = made("one", [("index.html", "a"), ("data/index.json", "b"), ("page_bg.wasm", "c")]);
        let other = made("other", [("index.html", "a"), ("data/index.json", "B"), ("sw.js", "c")]);
        let inner = Path::new("data").join("index.json").display().to_string();
        assert_eq!(differing(&one, &other), [inner, "page_bg.wasm".into(), "sw.js".into()]);
        assert_eq!(differing(&one, &one), [""; 0]);
        assert_eq!(one.len(), 3);
    }
}
