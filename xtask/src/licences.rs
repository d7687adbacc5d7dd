//! `cargo xtask licences`: the licence notices of everything linked into page, engine and command line, as one text
//! that the page and every release include; and a quick check that none is missing.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, output, root, run};
use crate::install::{self, Tool};
use crate::modules::{MODULES, TABLE};

/// Path of the text in the sources; the site uses the same name.
pub(crate) const FILE: &str = "web/public/licences.txt";

/// Rewrites the text.
pub(crate) fn write() -> Result<()> {
    let about = install::tool(Tool::About)?;
    let mut command = cargo();
    command.env("PATH", about).args(["about", "generate", "xtask/licences.hbs", "--output-file", FILE]);
    command.args(["--workspace", "--offline", "--fail"]);
    run(&mut command)?;
    check()
}

/// Fails if the text lacks a linked package, or names one that the lockfile does not.
pub(crate) fn check() -> Result<()> {
    let text = fs::read_to_string(root().join(FILE)).with_context(|| format!("{FILE} cannot be read"))?;
    let (noticed, linked, locked) = (noticed(&text), linked()?, locked()?);
    let missing: Vec<_> = linked.difference(&noticed).cloned().collect();
    let gone: Vec<_> = noticed.difference(&locked).cloned().collect();
    if linked.is_empty() || !missing.is_empty() || !gone.is_empty() {
        bail!("{FILE} lacks {missing:?} and names {gone:?} in vain; run cargo xtask licences");
    }
    println!("{FILE} has the notices of all {} packages", linked.len());
    Ok(())
}

/// `NAME VERSION` of every package with a notice in the text.
fn noticed(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix("- ")).map(Into::into).collect()
}

/// The same of every registry package linked into a browser module or this machine's command line.
fn linked() -> Result<BTreeSet<String>> {
    let command_line = ["--package", "straightedge"];
    let selections =
        MODULES.iter().map(|module| module.selection().to_vec()).chain([TABLE.to_vec(), command_line.to_vec()]);
    let mut packages = BTreeSet::new();
    for selection in selections {
        let mut tree = cargo();
        tree.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]);
        // `cargo tree` knows packages, not their binaries.
        tree.args(
            selection.chunks(2).filter(|pair| !pair.contains(&"--bin")).flatten().filter(|word| **word != "--lib"),
        );
        let tree = output(&mut tree).context("cargo tree fails")?;
        packages.extend(tree.lines().filter_map(named));
    }
    Ok(packages)
}

/// `NAME VERSION` from `NAME vVERSION`; a repeated package ends with `(*)`, the project's own have a path there.
fn named(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    words.next().is_none_or(|next| next == "(*)").then(|| format!("{name} {version}"))
}

fn locked() -> Result<BTreeSet<String>> {
    let lockfile = fs::read_to_string(root().join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    let value = |line: Option<&str>, key: &str| line?.strip_prefix(key)?.strip_suffix('"').map(str::to_owned);
    let lines: Vec<&str> = lockfile.lines().collect();
    let package = |pair: &[&str]| {
        let name = value(pair.first().copied(), "name = \"")?;
        Some(format!("{name} {}", value(pair.get(1).copied(), "version = \"")?))
    };
    Ok(lines.windows(2).filter_map(package).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_notices_trees_and_the_lockfile() {
        assert_eq!(noticed("MIT\n\n- serde 1.0.0\n\nPermission\n"), ["serde 1.0.0".to_owned()].into());
        assert_eq!(named("serde v1.0.0 (*)").as_deref(), Some("serde 1.0.0"));
        assert_eq!(named("straightedge v0.1.0 (/folder) (*)"), None);
        let locked = locked().expect("a lockfile");
        assert!(locked.len() > 100 && locked.iter().any(|package| package.starts_with("leptos ")), "{locked:?}");
    }
}
