//! Text from files and servers as it may be shown: nothing in it can control a terminal or turn the direction of a line.

use crate::error::Error;
use crate::sentences::fill;

/// Most characters of one value in a sentence.
const LONGEST: usize = 200;
/// Most characters of a whole sentence from a file; the longest of ours, with all its values, is shorter.
const LONGEST_LINE: usize = 2000;
/// Fields of sentences whose text is our own, lists of names included.
const OWN: [&str; 2] = ["hint", "known"];

/// The text in one line: control characters, line breaks and marks of direction as their escapes.
pub fn visible(text: &str) -> String {
    escaped(text, |_| false)
}

/// The same for a text of several lines.
pub fn visible_lines(text: &str) -> String {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// [`visible`], shortened to a length that a sentence can hold.
pub fn shown(text: &str) -> String {
    shortened(visible(text), LONGEST)
}

/// The same for a sentence that a file holds as a whole.
pub fn shown_line(text: &str) -> String {
    shortened(visible(text), LONGEST_LINE)
}

fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text,
    }
}

/// A sentence with its values, which may come from anywhere, so that each is [`shown`].
pub(crate) fn safe_sentence(sentence: &str, values: &[(&str, String)]) -> String {
    let safe = |field: &str, value: &str| if OWN.contains(&field) { visible(value) } else { shown(value) };
    let values: Vec<_> = values.iter().map(|(field, value)| (*field, safe(field, value))).collect();
    let values: Vec<_> = values.iter().map(|(field, value)| (*field, value.as_str())).collect();
    fill(sentence, &values)
}

/// Whether [`visible`] would change the text.
pub(crate) fn has_invisible(text: &str) -> bool {
    text.chars().any(is_invisible)
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut found = String::with_capacity(text.len());
    for character in text.chars() {
        match is_invisible(character) && !keep(character) {
            true => found.extend(character.escape_default()),
            false => found.push(character),
        }
    }
    found
}

/// Control characters, line separators, and marks that change the direction of text.
fn is_invisible(character: char) -> bool {
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{feff}'];
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || marks.contains(&character)
}

impl Error {
    /// The sentence to show, safe and with short values.
    pub fn sentence(&self) -> String {
        let (_, sentence, values) = self.parts();
        safe_sentence(sentence, &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_control_a_terminal_is_escaped() {
        assert_eq!(
            visible("a\u{1b}[31mb\nc\r\u{9b}\u{202e}d\u{2066}\u{7f}"),
            "a\\u{1b}[31mb\\nc\\r\\u{9b}\\u{202e}d\\u{2066}\\u{7f}"
        );
        assert_eq!(visible("Ünïcode – 漢字, \"quoted\""), "Ünïcode – 漢字, \"quoted\"");
        assert_eq!(visible_lines("a\tb\n\u{1b}c"), "a\tb\n\\u{1b}c");
    }

    #[test]
    fn values_of_errors_are_safe_and_short_and_our_own_words_are_whole() {
        let hint = "h".repeat(3 * LONGEST);
        let error = Error::MissingFile { file: "é\n\u{1b}]0;x\u{7}".repeat(100), hint: hint.clone() };
        let sentence = error.sentence();
        assert!(
            sentence.starts_with("é\\n\\u{1b}]0;x\\u{7}")
                && sentence.contains("…: not found; ")
                && sentence.ends_with(&hint)
        );
        assert!(
            sentence.chars().count() <= LONGEST + hint.len() + 20 && !sentence.chars().any(char::is_control),
            "{sentence}"
        );
        assert_eq!(Error::Cancelled.sentence(), Error::Cancelled.to_string());
        let shape = Error::TensorShape { tensor: "w".into(), found: vec![1, 2], expected: vec![3] };
        assert_eq!(shape.sentence(), shape.to_string());
    }
}
