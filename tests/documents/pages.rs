//! Links between documents, the size of the README, and paths that documents name.

use std::path::{Path, PathBuf};

use crate::markdown::{anchors, files, inline, links, prose, read, root, shown};

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let (mut checked, mut broken) = (0, Vec::new());
    for document in files(&[".md"]) {
        let text = read(&document);
        for target in prose(&text).flat_map(links).filter(|target| !target.contains("://")) {
            checked += 1;
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { document.clone() } else { folder(&document).join(path) };
            let has_heading = || heading.is_empty() || anchors(&read(&file)).contains(heading);
            if !file.exists() || !has_heading() {
                broken.push(format!("{}: {target}", shown(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(checked >= 40, "only {checked} links were found");
}

fn folder(document: &Path) -> PathBuf {
    document.parent().expect("a folder").into()
}

#[test]
fn the_readme_is_short_and_leads_to_every_document() {
    let readme = read("README.md");
    assert!(readme.len() <= 6144, "README.md has {} bytes", readme.len());
    let targets: Vec<&str> = prose(&readme).flat_map(links).collect();
    let documents: Vec<String> = files(&[".md"]).iter().map(|path| shown(path)).collect();
    let documents: Vec<_> = documents.iter().filter(|path| path.starts_with("docs/") || !path.contains('/')).collect();
    assert!(documents.len() >= 10, "{documents:?}");
    for document in documents.into_iter().filter(|path| *path != "README.md") {
        assert!(targets.contains(&document.as_str()), "README.md does not lead to {document}");
    }
    assert!(targets.iter().any(|target| target.ends_with(".png")), "README.md shows nothing");
}

/// Placeholders that the reader replaces.
const GAPS: [&str; 5] = ["NAME", "FAMILY", "OWNER", "REVISION", "FOLDER"];

#[test]
fn paths_that_are_named_exist() {
    let mut checked = 0;
    for document in ["docs/architecture.md", "docs/measures.md", "CONTRIBUTING.md", "docs/benchmarks.md"] {
        let text = read(document);
        for line in prose(&text) {
            // A file is named relative to its folder, or to another file in the same folder.
            let mut folders = vec![root(), root().join("src"), root().join("web/src")];
            for name in inline(line).into_iter().filter(|name| is_path(name)) {
                let found = folders.iter().rev().map(|folder| folder.join(name)).find(|path| path.exists());
                let found = found.unwrap_or_else(|| panic!("{document} names {name}, which is not there: {line}"));
                checked += 1;
                folders.extend(found.parent().map(Path::to_path_buf));
                folders.extend(found.is_dir().then_some(found));
            }
        }
    }
    assert!(checked >= 150, "only {checked} paths were found");
}

/// A path within the project: a source file or a folder, but no build output.
fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let is_made = ["target/", "dist/"].iter().any(|made| name.starts_with(made));
    let is_file = [".rs", ".md", ".mjs", ".js", ".wgsl", ".json", ".toml"].iter().any(|ending| name.ends_with(ending));
    let of_a_model = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "vocab.json"];
    let is_of_a_model = of_a_model.contains(&name);
    is_plain
        && !is_made
        && !is_of_a_model
        && (is_file || name.ends_with('/'))
        && !GAPS.iter().any(|gap| name.contains(gap))
}

#[test]
fn rules_name_tests_that_exist() {
    let text = read("docs/architecture.md");
    let mut checked = 0;
    for line in prose(&text).filter(|line| line.starts_with('|')) {
        let mut source = String::new();
        for name in inline(line) {
            if name.ends_with(".rs") && is_path(name) && root().join(name).exists() {
                source = read(name);
            } else if name.matches('_').count() >= 3 {
                assert!(source.contains(&format!("fn {name}()")), "there is no test {name}: {line}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 5, "only {checked} tests are named");
}
