//! Comments cite only existing sections of docs/measures.md, and no document outside the repository.

use crate::markdown::{files, headings_numbered, inline, read, section, shown};

/// Extensions of sources with comments.
const ENDINGS: [&str; 5] = [".rs", ".wgsl", ".mjs", ".js", ".py"];
const CITED: &str = "docs/measures.md, section";

/// The comments of a source as one line of text.
fn comments(source: &str) -> String {
    let marks = ["//!", "///", "//", "#"];
    let comment = |line: &str| marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)).map(str::to_owned);
    let joined: Vec<String> = source.lines().filter_map(comment).collect();
    joined.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn cited_sections_exist() {
    let document = read("docs/measures.md");
    let sections = headings_numbered(&document);
    assert_eq!(
        sections.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        (1..=sections.len()).collect::<Vec<_>>()
    );
    let mut checked = 0;
    for path in files(&ENDINGS) {
        let text = comments(&read(&path));
        for citation in text.split(CITED).skip(1) {
            let end = citation.find([')', '.', ';', '?', '\u{2014}']).unwrap_or(citation.len()).min(60);
            let end = (0..=end).rev().find(|end| citation.is_char_boundary(*end)).unwrap_or(0);
            let cited = &citation[..end];
            let words = cited.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
            let numbers: Vec<usize> = words.filter_map(|word| word.parse().ok()).collect();
            assert!(!numbers.is_empty(), "{}: no number after “{CITED}{cited}”", shown(&path));
            for number in &numbers {
                let found = sections.iter().find(|(known, _)| known == number);
                let (_, heading) = found.unwrap_or_else(|| panic!("{}: no section {number}", shown(&path)));
                for name in inline(cited) {
                    let has = section(&document, heading).contains(&format!("`{name}`"));
                    assert!(has, "{}: section {number} does not speak of {name}", shown(&path));
                }
            }
            checked += 1;
        }
    }
    assert!(checked >= 25, "only {checked} citations were found");
}

#[test]
fn no_comment_cites_a_document_outside_the_project() {
    let mut checked = 0;
    for path in files(&ENDINGS) {
        let text = comments(&read(&path));
        let words = text.split(|c: char| c.is_whitespace() || "()`,;".contains(c));
        for word in words.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| word.ends_with(".md")) {
            let file = word.rsplit('/').next().unwrap_or(word);
            let exists = files(&[".md"]).iter().any(|document| document.ends_with(file));
            assert!(exists, "{}: {word} is not in the project", shown(&path));
            checked += 1;
        }
    }
    assert!(checked >= 25, "only {checked} documents are named");
}
