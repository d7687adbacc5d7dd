//! Parses test runners' output: numbers of passed and failed tests, and skipped ones with reasons.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Counts and skipped tests of one or more runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Tests, or comparisons within one, that did not run: `NAME: REASON`.
    pub(crate) skipped: BTreeSet<String>,
}

impl Tally {
    /// Adds the output of `cargo test`: a closing line per test program, a line per ignored test.
    pub(crate) fn add_cargo(&mut self, output: &str) {
        for line in output.lines() {
            if let Some(counts) = line.strip_prefix("test result: ") {
                self.passed += count(counts, "passed");
                self.failed += count(counts, "failed");
            } else if let Some((name, why)) = ignored(line) {
                self.skipped.insert(format!("{name}: {why}"));
            }
        }
    }

    /// Adds the output of Node.js's test runner with its `spec` reporter.
    pub(crate) fn add_node(&mut self, output: &str) {
        for line in output.lines() {
            let mut words = line.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic()).split(' ');
            let (Some(what), Some(Ok(number))) = (words.next(), words.next().map(str::parse::<usize>)) else {
                continue;
            };
            match what {
                "pass" => self.passed += number,
                "fail" | "cancelled" => self.failed += number,
                "skipped" | "todo" if number > 0 => {
                    self.skipped.insert(format!("{number} browser tests: marked as {what}"));
                }
                _ => {}
            }
        }
    }

    /// Adds the comparisons that tests skipped, one `NAME: REASON` per line; none if the file is missing.
    pub(crate) fn add_skipped(&mut self, file: &Path) {
        self.skipped.extend(fs::read_to_string(file).unwrap_or_default().lines().map(Into::into));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }
}

/// The number before a word, as in `5 passed; 0 failed`.
fn count(text: &str, word: &str) -> usize {
    let words: Vec<&str> = text.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or_default()
}

/// Name and reason in `test NAME ... ignored, REASON`.
fn ignored(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ignored")?;
    Some((name, outcome.strip_prefix(", ").unwrap_or("no reason given")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_added_up_and_ignored_tests_keep_their_reason() {
        let mut tally = Tally::default();
        tally.add_cargo(
            "running 3 tests\ntest a ... ok\ntest b ... ignored, needs Python\ntest c ... FAILED\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
             test d ... ignored\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!((tally.passed, tally.failed), (13, 1));
        assert_eq!(tally.skipped, ["b: needs Python", "d: no reason given"].map(String::from).into());
    }

    #[test]
    fn node_is_counted_too() {
        let mut tally = Tally::default();
        tally.add_node("✔ opens (3 ms)\nℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n");
        assert_eq!((tally.passed, tally.failed), (3, 1));
        assert_eq!(tally.skipped, ["1 browser tests: marked as skipped"].map(String::from).into());
    }
}
