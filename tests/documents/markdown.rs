//! Parser for the Markdown in the documents: sections, code blocks, inline code, links, first columns of tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with generated or third-party files.
const FOREIGN: [&str; 3] = ["target", "dist", "node_modules"];

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// All files of the project with one of these endings.
pub(crate) fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of the project").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                collect(&path, endings, found);
            } else if path.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), endings, &mut found);
    found.sort();
    found
}

/// A path as the documents write it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Lines outside of code blocks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|(is_code, _)| !is_code).map(|(_, line)| line)
}

/// Lines within code blocks.
pub(crate) fn code(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|(is_code, _)| *is_code).map(|(_, line)| line)
}

fn lines(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_fence).then_some((is_code, line))
    })
}

/// Code spans in a line.
pub(crate) fn inline(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// Targets of the links of a line, pictures included.
pub(crate) fn links(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// Anchors of a document's headings.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    headings(text).map(anchor).collect()
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
}

/// Headings such as `## 2. Linear recoverability` with their numbers, in order.
pub(crate) fn headings_numbered(text: &str) -> Vec<(usize, &str)> {
    let number = |line: &str| line.strip_prefix("## ")?.split_once(". ")?.0.parse().ok();
    prose(text).filter_map(|line| Some((number(line)?, line))).collect()
}

/// Lower case, spaces as dashes, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A section from its heading to the next one of the same or a higher level.
pub(crate) fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}")) + 1;
    let level = heading.chars().take_while(|c| *c == '#').count();
    let is_end = |line: &&str| line.starts_with('#') && line.chars().take_while(|c| *c == '#').count() <= level;
    let rest = &text[start + heading.len()..];
    let end = rest.lines().find(is_end).map_or(rest.len(), |line| line.as_ptr() as usize - rest.as_ptr() as usize);
    &text[start..start + heading.len() + end]
}

/// Rows of the table whose first column has this heading, as cells.
pub(crate) fn rows<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let cells = |line: &'a str| line.trim().trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let mut lines = prose(text).skip_while(|line| !line.starts_with(&format!("| {heading} |")));
    assert!(lines.next().is_some(), "no table of {heading}");
    let rows: Vec<_> = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(!rows.is_empty(), "the table of {heading} is empty");
    rows
}

/// Code spans in the first column of such a table.
pub(crate) fn names(text: &str, heading: &str) -> Vec<String> {
    rows(text, heading).iter().flat_map(|row| inline(row[0])).map(Into::into).collect()
}

/// The same as a set, each once.
pub(crate) fn name_set(text: &str, heading: &str) -> BTreeSet<String> {
    let names = names(text, heading);
    let set: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "a name stands twice in the table of {heading}");
    set
}

/// Reports the names that either side lacks.
#[track_caller]
pub(crate) fn assert_same(what: &str, documented: &BTreeSet<String>, there: &BTreeSet<String>) {
    assert!(!there.is_empty(), "{what}: nothing to compare with");
    let missing: Vec<_> = there.difference(documented).collect();
    let unknown: Vec<_> = documented.difference(there).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "{what}: not documented {missing:?}; not there {unknown:?}");
}

#[test]
fn headings_become_anchors_and_sections_end_at_the_next() {
    let text = "# A\n\n## 10. The `report`\nx\n### Inner\ny\n```\n# no heading\n```\n## Next\nz\n";
    assert_eq!(anchors(text), ["a", "10-the-report", "inner", "next"].map(String::from).into());
    assert!(section(text, "## 10. The `report`").contains('y') && !section(text, "## 10. The `report`").contains('z'));
    assert_eq!(links("[a](b.md#c), ![d](e.png)"), ["b.md#c", "e.png"]);
}
