//! The table of dependencies lists exactly the crates that packages of the workspace depend on.

use std::collections::BTreeSet;

use crate::markdown::{assert_same, files, name_set, read, section};

/// Crates in the dependency tables of a manifest, by their registry names.
fn crates(manifest: &toml::Table, found: &mut BTreeSet<String>) {
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            found.extend(table.iter().filter_map(|(name, wanted)| from_registry(name, wanted)));
        } else {
            crates(table, found);
        }
    }
}

/// The name of a crate unless it is a package of this workspace.
fn from_registry(name: &str, wanted: &toml::Value) -> Option<String> {
    let setting = |key: &str| wanted.get(key).and_then(toml::Value::as_str);
    setting("path").is_none().then(|| setting("package").unwrap_or(name).to_owned())
}

#[test]
fn every_dependency_is_in_the_table_with_what_it_is_for() {
    let mut found = BTreeSet::new();
    for manifest in files(&["Cargo.toml"]) {
        let table = read(&manifest).parse().unwrap_or_else(|why| panic!("{}: {why}", manifest.display()));
        crates(&table, &mut found);
    }
    assert!(found.len() > 30, "{found:?}");
    let document = read("docs/architecture.md");
    assert_same("dependencies", &name_set(section(&document, "## Dependencies"), "crate"), &found);
}
