//! The invariants of docs/architecture.md, held by reading the sources.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imports::{Crate, circles};

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

/// Code without comments, so that prose may speak of what code may not.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// The modules of the crate, by their outermost name, that `code` of the file `path` reaches through `crate` or `super`.
fn reached(path: &str, code: &str) -> BTreeSet<String> {
    let file = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    let module: Vec<&str> = file.split('/').filter(|name| *name != "lib").collect();
    let within = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let mut found = BTreeSet::new();
    for head in ["crate::", "super::"] {
        for (at, _) in code.match_indices(head).filter(|(at, _)| !within(code[..*at].chars().next_back())) {
            let mut rest = &code[at..];
            let mut above = if head == "crate::" { module.len() } else { 0 };
            rest = rest.strip_prefix("crate::").unwrap_or(rest);
            while let Some(inner) = rest.strip_prefix("super::") {
                (above, rest) = (above + 1, inner);
            }
            match module.get(..module.len().saturating_sub(above)).and_then(<[_]>::first) {
                Some(own) => found.extend([(*own).to_owned()]),
                None => found.extend(first_names(rest).into_iter().filter(|name| !name.is_empty())),
            }
        }
    }
    found
}

/// What a path begins with, or each path of `{a::b, c::{d, e}, f}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |path: &str| path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let (mut depth, mut names) = (0, Vec::new());
    for (at, c) in path.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match (c, depth) {
            (_, 0) => break,
            ('{' | ',', 1) => names.push(name(&path[at + 1..])),
            _ => {}
        }
    }
    if names.is_empty() { vec![name(path)] } else { names }
}

#[test]
fn every_way_to_reach_a_module_is_seen() {
    let code = "use crate::{a::X, b::{c, d}, e};\nuse super::{f, g::h};\nfn z() { super::super::i::j(); crate::k() }";
    let names = |found: BTreeSet<String>| found.into_iter().collect::<Vec<_>>();
    assert_eq!(names(reached("src/solve/mod.rs", code)), ["a", "b", "e", "f", "g", "i", "k"]);
    assert_eq!(names(reached("src/solve/fit.rs", code)), ["a", "b", "e", "i", "k", "solve"]);
    assert_eq!(names(reached("src/forward.rs", "use super::{\n    gpu::{X},\n    run,\n};")), ["gpu", "run"]);
}

/// Whether `code` names the crate or module `name` as the head of a path.
fn names(code: &str, name: &str) -> bool {
    let separate = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
    code.match_indices(&format!("{name}::")).any(|(at, _)| separate(code[..at].chars().next_back()))
}

#[test]
fn third_party_crates_stay_in_their_modules() {
    let homes: [(&str, &[&str]); 13] = [
        ("wgpu", &["src/gpu/"]),
        ("candle_core", &["src/cpu/", "src/heal.rs", "src/adamw.rs"]),
        ("tokenizers", &["src/corpus/tokens.rs"]),
        ("faer", &["src/solve/"]),
        ("pulp", &["arithmetic/src/lanes.rs"]),
        ("straightedge_arithmetic", &["src/cpu/"]),
        ("rayon", &["src/parallel.rs"]),
        ("safetensors", &["src/weights/", "src/cli/maps.rs"]),
        ("sha2", &["src/digest.rs"]),
        ("ureq", &["src/hub/transport.rs"]),
        ("clap", &["src/cli/"]),
        ("ctrlc", &["src/cli/"]),
        ("toml", &["src/cli/atlas/"]),
    ];
    let sources = [sources("src"), sources("arithmetic/src")].concat();
    for (name, homes) in homes {
        let users: Vec<_> = sources.iter().filter(|(_, text)| names(&code(text), name)).map(|(path, _)| path).collect();
        assert!(!users.is_empty(), "{name} is used nowhere: is this test looking at the right thing?");
        for path in users {
            assert!(homes.iter().any(|home| path.starts_with(home)), "{path} names {name}, which stays in {homes:?}");
        }
    }
}

#[test]
fn modules_do_not_know_what_is_above_them() {
    let ignorant: [(&str, &[&str]); 5] = [
        ("src/gpu/", &["model", "forward", "run", "corpus", "weights"]),
        ("src/solve/", &["gpu", "cpu", "backend", "model", "forward", "run"]),
        ("src/model/", &["gpu", "cpu", "forward", "run", "solve"]),
        ("src/forward.rs", &["gpu", "cpu", "run", "solve"]),
        ("src/moments.rs", &["gpu", "cpu", "backend", "model", "solve"]),
    ];
    let sources = sources("src");
    for (home, unknown) in ignorant {
        let files: Vec<_> = sources.iter().filter(|(path, _)| path.starts_with(home)).collect();
        assert!(!files.is_empty(), "{home} is empty");
        for (path, text) in files {
            let reached = reached(path, &code(text));
            for module in unknown {
                assert!(!reached.contains(*module), "{path} has heard of {module}");
            }
        }
    }
}

#[test]
fn the_page_knows_only_plain_data_of_the_engine() {
    let plain = [
        "job",
        "event",
        "extent",
        "report",
        "error",
        "agreement",
        "atlas",
        "bundled",
        "continuation",
        "cost",
        "difference",
        "published",
        "summary",
        "thirds",
        "trace",
        "transcript",
        "hub::id",
        "hub::preflight",
    ];
    let mut seen = 0;
    for (path, text) in sources("web/src") {
        if ["web/src/worker/", "web/src/workers.rs", "web/src/link.rs"].iter().any(|home| path.starts_with(home)) {
            continue;
        }
        for (at, _) in code(&text).match_indices("straightedge::") {
            let text = &code(&text)[at + "straightedge::".len()..];
            assert!(plain.iter().any(|module| text.starts_with(module)), "{path}: straightedge::{:.30}", text);
            seen += 1;
        }
    }
    assert!(seen > 0, "is this test looking at the right thing?");
}

#[test]
fn the_page_builds_without_the_engine() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "straightedge-web", "--edges", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    assert!(tree.contains("leptos "), "not the page's tree:\n{tree}");
    for name in ["wgpu", "candle-core", "tokenizers", "faer"] {
        assert!(!tree.lines().any(|line| line.starts_with(&format!("{name} "))), "the page depends on {name}");
    }
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    for folder in
        ["src", "arithmetic/src", "bench/src", "mirror/src", "table/src", "web/src", "train", "xtask/src", "tests"]
    {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//!"), "{path} does not open with //!");
            let lines = text.lines().count();
            assert!(lines <= 500, "{path} has {lines} lines");
        }
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let roots = [
        "src/lib.rs",
        "src/main.rs",
        "arithmetic/src/lib.rs",
        "bench/src/lib.rs",
        "mirror/src/lib.rs",
        "table/src/lib.rs",
        "train/src/main.rs",
        "web/src/lib.rs",
        "web/src/main.rs",
        "web/src/worker/main.rs",
        "xtask/src/main.rs",
    ];
    let mut said = String::new();
    for file in roots {
        let sources = Crate::read(&root().join(file));
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
