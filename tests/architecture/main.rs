//! Checks the invariants of docs/architecture.md against the sources.

mod imports;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::{Crate, circles};
use names::shared_names;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A path from the repository's root, with slashes.
fn relative(path: &Path) -> String {
    path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/")
}

/// All Rust files below `folder`, as paths relative to the repository with their texts.
fn sources(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    assert!(!paths.is_empty(), "{folder} has no sources");
    paths.iter().map(|path| (relative(path), fs::read_to_string(path).expect("UTF-8"))).collect()
}

/// Code without comments, because prose may mention what code may not use.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// Whether `code` uses the crate or module `name` at the head of a path.
fn names(code: &str, name: &str) -> bool {
    let separate = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
    code.match_indices(&format!("{name}::")).any(|(at, _)| separate(code[..at].chars().next_back()))
}

#[test]
fn third_party_crates_stay_in_their_modules() {
    let homes: [(&str, &[&str]); 16] = [
        ("wgpu", &["src/backend/gpu/"]),
        ("candle_core", &["src/backend/cpu/", "src/training/"]),
        ("tokenizers", &["src/corpus/tokens.rs"]),
        ("base64", &["src/corpus/"]),
        ("regex_syntax", &["src/corpus/"]),
        ("faer", &["src/solve/"]),
        ("pulp", &["crates/simd/src/lanes.rs"]),
        ("straightedge_simd", &["src/backend/cpu/"]),
        ("rayon", &["src/platform/parallel.rs"]),
        ("safetensors", &["src/weights/"]),
        ("sha1", &["src/platform/digest.rs"]),
        ("sha2", &["src/platform/digest.rs"]),
        ("ureq", &["src/hub/transport.rs"]),
        ("clap", &["src/cli/"]),
        ("ctrlc", &["src/cli/"]),
        ("toml", &["src/cli/atlas/"]),
    ];
    let sources = [sources("src"), sources("crates/simd/src")].concat();
    for (name, homes) in homes {
        let users: Vec<_> = sources.iter().filter(|(_, text)| names(&code(text), name)).map(|(path, _)| path).collect();
        assert!(!users.is_empty(), "{name} is used nowhere: is this test looking at the right thing?");
        for path in users {
            assert!(homes.iter().any(|home| path.starts_with(home)), "{path} names {name}, which stays in {homes:?}");
        }
    }
}

/// The files that each file of a crate uses, by paths from the repository's root.
fn imports(file: &str) -> BTreeMap<String, BTreeSet<String>> {
    let imports = Crate::read(&root().join(file)).imports();
    let named = imports.iter().map(|(file, uses)| (relative(file), uses.keys().map(|used| relative(used)).collect()));
    named.collect()
}

#[test]
fn modules_do_not_know_what_is_above_them() {
    let ignorant: [(&str, &[&str]); 5] = [
        ("src/backend/", &["src/model/", "src/forward.rs", "src/run/", "src/corpus/", "src/weights/", "src/solve/"]),
        ("src/solve/", &["src/backend/", "src/model/", "src/forward.rs", "src/run/"]),
        ("src/model/", &["src/backend/gpu/", "src/backend/cpu/", "src/forward.rs", "src/run/", "src/solve/"]),
        ("src/forward.rs", &["src/backend/gpu/", "src/backend/cpu/", "src/run/", "src/solve/"]),
        ("src/stats/moments.rs", &["src/backend/", "src/model/", "src/solve/"]),
    ];
    let imports = imports("src/lib.rs");
    let within = |path: &str| imports.keys().any(|file| file.starts_with(path));
    for (home, unknown) in ignorant {
        assert!(within(home) && unknown.iter().all(|path| within(path)), "{home} or one of {unknown:?} is empty");
        for (file, uses) in imports.iter().filter(|(file, _)| file.starts_with(home)) {
            for used in uses {
                assert!(!unknown.iter().any(|path| used.starts_with(path)), "{file} uses {used}");
            }
        }
    }
}

/// Folders with the sources of every package, and in each the files that are a crate's root.
const CRATES: [(&str, &[&str]); 13] = [
    ("src", &["lib.rs", "main.rs"]),
    ("crates/api/src", &["lib.rs"]),
    ("crates/parquet-text/src", &["lib.rs"]),
    ("crates/random/src", &["lib.rs"]),
    ("crates/simd/src", &["lib.rs"]),
    ("tools/bench/src", &["lib.rs", "main.rs", "browser.rs"]),
    ("tools/fuzz/src", &["lib.rs", "main.rs"]),
    ("tools/hub-mirror/src", &["lib.rs"]),
    ("tools/train/src", &["lib.rs", "main.rs"]),
    ("web/src", &["lib.rs"]),
    ("web/page/src", &["main.rs"]),
    ("web/worker/src", &["lib.rs", "main.rs", "checks.rs"]),
    ("xtask/src", &["main.rs"]),
];

/// Root files of all crates.
fn roots() -> impl Iterator<Item = String> {
    CRATES.iter().flat_map(|(folder, files)| files.iter().map(move |file| format!("{folder}/{file}")))
}

/// Folders of the workspace's packages, by the root's `Cargo.toml`.
fn packages() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let (_, members) = manifest.split_once("members = [").expect("members");
    let (members, _) = members.split_once(']').expect("an end of members");
    members.split('"').skip(1).step_by(2).map(|member| format!("{member}/src")).chain(["src".into()]).collect()
}

#[test]
fn every_source_file_is_read() {
    for package in packages() {
        assert!(CRATES.iter().any(|(folder, _)| *folder == package), "{package} is not among CRATES");
    }
    let read: BTreeSet<String> = roots().flat_map(|file| imports(&file).into_keys()).collect();
    for (folder, _) in CRATES {
        let sources = sources(folder);
        let is_for_tests = |path: &str| {
            let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).expect("a name");
            sources.iter().any(|(_, text)| text.contains(&format!("#[cfg(test)]\nmod {name};")))
        };
        for (path, _) in sources.iter().filter(|(path, _)| !is_for_tests(path)) {
            assert!(read.contains(path), "{path} belongs to no root of CRATES");
        }
    }
}

/// The file or folder directly below `folder` that `file` belongs to; `None` for files elsewhere, and for the file
/// that declares the folder's modules.
fn child<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    let within = file.strip_prefix(folder)?.strip_prefix('/')?;
    let name = within.split('/').next()?;
    (!["mod.rs", "lib.rs", "main.rs"].contains(&within)).then(|| &file[..folder.len() + 1 + name.len()])
}

/// Which files and folders directly below `folder` use which others, with the imports.
fn arrows_within(folder: &str, imports: &BTreeMap<String, BTreeSet<String>>) -> imports::Imports {
    let mut arrows = imports::Imports::new();
    for (user, uses) in imports {
        let Some(home) = child(folder, user) else { continue };
        let arrows = arrows.entry(home.into()).or_default();
        for used in uses {
            if let Some(other) = child(folder, used).filter(|other| *other != home) {
                arrows.entry(other.into()).or_default().insert(format!("{user} uses {used}"));
            }
        }
    }
    arrows
}

#[test]
fn no_folders_use_each_other_in_a_circle() {
    let mut compared = 0;
    for file in roots() {
        let imports = imports(&file);
        let folders: BTreeSet<_> = imports.keys().filter_map(|file| Some(file.rsplit_once('/')?.0)).collect();
        for folder in folders {
            let arrows = arrows_within(folder, &imports);
            compared += arrows.len();
            let said: Vec<_> = circles(&arrows)
                .iter()
                .flat_map(|circle| circle.iter().flat_map(|from| circle.iter().filter_map(|to| arrows[from].get(to))))
                .flatten()
                .cloned()
                .collect();
            assert!(said.is_empty(), "below {folder}, these use each other in a circle:\n{}", said.join("\n"));
        }
    }
    assert!(compared > 300, "{compared}: is this test looking at the right thing?");
}

/// The folders and files of `folder` by the line on which docs/architecture.md draws them; lower lines are numbered
/// higher.
fn drawn(folder: &str) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).expect("the document");
    let (_, picture) = text.split_once(&format!("\n {folder}:")).unwrap_or_else(|| panic!("no picture of {folder}"));
    let rest_of = |line: &&str| line.starts_with("  ");
    let (first, others) = picture.split_once('\n').expect("lines");
    let mut drawn = BTreeMap::new();
    for (floor, line) in [first].into_iter().chain(others.lines().take_while(rest_of)).enumerate() {
        for name in line.split(|c: char| !c.is_alphanumeric() && c != '/') {
            let name = name.split('/').next().unwrap_or_default();
            for path in [format!("{folder}/{name}"), format!("{folder}/{name}.rs")] {
                if !name.is_empty() && root().join(&path).exists() {
                    drawn.entry(path).or_insert(floor);
                }
            }
        }
    }
    drawn
}

#[test]
fn nothing_uses_what_is_drawn_above_it() {
    for folder in ["src", "web/src"] {
        let drawn = drawn(folder);
        let arrows = arrows_within(folder, &imports(&format!("{folder}/lib.rs")));
        assert!(arrows.len() > 10, "{folder}: {}: is this test looking at the right thing?", arrows.len());
        let floor = |path: &Path| {
            let path = path.to_str().expect("UTF-8");
            *drawn.get(path).unwrap_or_else(|| panic!("the picture in docs/architecture.md lacks {path}"))
        };
        for (from, uses) in &arrows {
            for (to, said) in uses {
                assert!(floor(from) <= floor(to), "{} is drawn above {}: {said:?}", to.display(), from.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    for folder in ["src", "crates", "tools", "web", "xtask/src", "tests"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//!"), "{path} does not open with //!");
            let lines = text.lines().count();
            assert!(lines <= 500, "{path} has {lines} lines");
        }
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut said = String::new();
    for file in roots() {
        let sources = Crate::read(&root().join(&file));
        let imports = sources.imports();
        let arrows: usize = imports.values().map(|uses| uses.len()).sum();
        assert!(sources.len() < 4 || arrows >= sources.len(), "{file}: {arrows} imports of {} files", sources.len());
        for circle in circles(&imports) {
            for file in &circle {
                for (used, paths) in imports[file].iter().filter(|(used, _)| circle.contains(used)) {
                    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
                    said += &format!("{} uses {}: {}\n", relative(file), relative(used), paths.join(", "));
                }
            }
            said.push('\n');
        }
    }
    assert!(said.is_empty(), "files that use each other in a circle:\n\n{said}");
}

#[test]
fn no_name_stands_for_two_types_of_a_crate() {
    // The engine re-exports the plain data, so both are one crate to their readers.
    let engine: &[&str] = &["src", "crates/api/src"];
    for folders in CRATES.iter().map(|(folder, _)| std::slice::from_ref(folder)).chain([engine]) {
        let sources: Vec<_> = folders.iter().flat_map(|folder| sources(folder)).collect();
        let shared = shared_names(sources.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        assert!(shared.is_empty(), "{folders:?}: {shared:#?}");
    }
    let twice = [("a.rs", "struct A;"), ("b.rs", "mod inner { pub(crate) enum A {} } trait B {}")];
    assert_eq!(shared_names(twice.into_iter()), [("A".to_owned(), vec!["a.rs", "b.rs"])].into());
    let in_one_file = [("a.rs", "struct A; mod inner { struct A; } #[cfg(unix)] struct B; #[cfg(windows)] struct B;")];
    assert_eq!(shared_names(in_one_file.into_iter()), [("A".to_owned(), vec!["a.rs", "a.rs"])].into());
}
