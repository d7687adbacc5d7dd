//! The table of faults in docs/hardening.md: every test that it names exists.

use crate::markdown::{inline, read, root};

/// Rows of the table under a heading, by cells.
fn rows(document: &str, heading: &str) -> Vec<Vec<String>> {
    let section = document.split(heading).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    lines.skip(1).map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn every_test_in_the_table_of_faults_exists() {
    let mut checked = 0;
    for row in rows(&read("docs/hardening.md"), "\n## Faults\n") {
        assert_eq!(row.len(), 5, "{row:?}");
        let tests = &row[4];
        let mut source = String::new();
        let mut named = 0;
        for code in inline(tests) {
            if root().join(code).is_file() {
                source = read(code);
                continue;
            }
            let is_there = source.contains(&format!("fn {code}()")) || source.contains(&format!("('{code}"));
            assert!(is_there, "{}: there is no test {code}", row[0]);
            (named, checked) = (named + 1, checked + 1);
        }
        assert!(named > 0, "{}: {tests}", row[0]);
    }
    assert!(checked >= 30, "only {checked} tests are named");
}
