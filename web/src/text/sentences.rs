//! Sentences of the engine in the language in use: errors, warnings, and the phrases that fill them.
//!
//! The engine writes English, in reports and links too. A translation has a sentence with placeholders for each English
//! one. The values found in the English sentence are inserted into the translated one.

use std::cell::Cell;

use super::fill;
use super::language::{Words, language};

/// How deep phrases are looked for in the values of sentences: a hint within an error within a warning.
const DEPTH: usize = 3;

thread_local! {
    static IN_USE: Cell<&'static [Pattern]> = const { Cell::new(&[]) };
}

/// An English sentence, cut at its placeholders, and its translation.
struct Pattern {
    /// The literal pieces around the placeholders, one more than there are names.
    pieces: Vec<&'static str>,
    names: Vec<&'static str>,
    translated: &'static str,
}

/// A sentence of the engine, translated as far as it is known.
pub fn translated(sentence: &str) -> String {
    of_depth(sentence, DEPTH)
}

/// Uses these translations from now on.
pub(super) fn speak(sentences: Option<&'static Words>, phrases: Option<&'static Words>) {
    let words = [sentences, phrases].into_iter().flatten().flatten();
    let patterns: Vec<_> = words.map(|(english, translated)| Pattern::new(english, translated)).collect();
    IN_USE.set(Box::leak(patterns.into_boxed_slice()));
}

fn of_depth(text: &str, depth: usize) -> String {
    let fits = IN_USE.get().iter().filter_map(|pattern| Some((pattern, pattern.values(text)?)));
    let Some((pattern, values)) = fits.max_by_key(|(pattern, _)| pattern.letters()).filter(|_| depth > 0) else {
        return number(text);
    };
    // Names stay as they are, even if one is a phrase by chance, such as `rows` of a link.
    let value = |(name, value)| if name == "name" { String::from(value) } else { of_depth(value, depth - 1) };
    let values: Vec<String> = pattern.names.iter().copied().zip(values).map(value).collect();
    let values: Vec<_> = pattern.names.iter().copied().zip(values.iter().map(String::as_str)).collect();
    fill(pattern.translated, &values)
}

/// A number with the decimal sign of the language; any other text as it is.
fn number(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(_) => text.replace('.', &language().decimal().to_string()),
        Err(_) => text.into(),
    }
}

impl Pattern {
    fn new(english: &'static str, translated: &'static str) -> Self {
        let (mut pieces, mut names) = (Vec::new(), Vec::new());
        let mut rest = english;
        while let Some((piece, (name, end))) =
            rest.split_once('{').and_then(|(piece, end)| Some((piece, end.split_once('}')?)))
        {
            pieces.push(piece);
            names.push(name);
            rest = end;
        }
        pieces.push(rest);
        Self { pieces, names, translated }
    }

    /// Letters outside the placeholders: of two sentences that fit, the one with more is meant.
    fn letters(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// What stands in the places of the placeholders; `None` if the text is another sentence.
    fn values<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let [first, middle @ .., last] = &*self.pieces else { return (self.pieces == [text]).then(Vec::new) };
        let mut rest = text.strip_prefix(first)?.strip_suffix(last)?;
        let mut values = Vec::with_capacity(self.names.len());
        for piece in middle {
            let (value, end) = rest.split_once(piece)?;
            values.push(value);
            rest = end;
        }
        values.push(rest);
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use straightedge_api::error::Error;
    use straightedge_api::report::{Warning, WarningKind};

    use super::super::language::Language;
    use super::super::translation::tests::speaking;
    use super::*;

    fn with(words: &[(&str, &str)]) {
        let words: Words = words.iter().map(|(english, german)| ((*english).into(), (*german).into())).collect();
        speak(Some(Box::leak(Box::new(words))), None);
    }

    #[test]
    fn values_move_into_the_other_sentence_and_are_translated_themselves() {
        with(&[
            ("{what}: gone ({why}); {hint}", "{hint}! {what} ist weg ({why})"),
            ("{what}: gone", "nie"),
            ("use {n} rows", "{n} Zeilen nehmen"),
            ("it broke", "es brach"),
            ("it broke twice", "es brach zweimal"),
        ]);
        assert_eq!(translated("a.txt: gone (it broke); use 7 rows"), "7 Zeilen nehmen! a.txt ist weg (es brach)");
        assert_eq!(translated("a: gone"), "nie", "the other has no place for it");
        assert_eq!(translated("it broke twice"), "es brach zweimal");
        assert_eq!(translated("{why}: gone ({hint}); x"), "x! {why} ist weg ({hint})", "values are no templates");
        for other in ["", "gone", "x: gone ()", "use  row"] {
            assert_eq!(translated(other), other);
        }
        with(&[("{name} in {what}", "{name} von {what}"), ("rows", "Zeilen")]);
        assert_eq!(translated("rows in rows"), "rows von Zeilen", "a name is no phrase");
        with(&[("use {n} rows", "{n} Zeilen nehmen")]);
        assert_eq!(translated("use use 1 rows rows"), "1 Zeilen nehmen Zeilen nehmen");
    }

    #[test]
    fn errors_and_warnings_are_german_in_german() {
        speaking(Language::German);
        let warning = Warning::of_block(
            3,
            &WarningKind::MoreRows {
                bias: "0.012".into(),
                error: "0.003".into(),
                per_input: "15.6".into(),
                rows: "60000".into(),
                bound: "0.005".into(),
            },
        );
        let text = translated(warning.text.strip_prefix("block 3: ").unwrap());
        assert!(text.contains("0,012 ± 0,003") && text.contains("15,6") && !text.contains("rows"), "{text}");
        let error = Error::InvalidSetting {
            field: "--folds".into(),
            value: "1".into(),
            hint: "the model has blocks 0 to 5".into(),
        };
        let text = translated(&error.sentence());
        assert!(text.starts_with("--folds: 1") && text.ends_with("0 bis 5") && !text.contains("block "), "{text}");
        speaking(Language::English);
        assert_eq!(translated(&error.sentence()), error.sentence());
    }

    #[test]
    fn every_phrase_that_is_translated_is_one_of_the_engine_or_the_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut sources = String::new();
        for folder in ["src", "crates", "web"] {
            read(&root.join(folder), &mut sources);
        }
        speaking(Language::German);
        let patterns = IN_USE.get();
        assert!(patterns.len() > 150, "{}", patterns.len());
        for pattern in patterns {
            for piece in pattern.pieces.iter().filter(|piece| piece.len() > 3) {
                assert!(
                    sources.contains(piece),
                    "no source says “{piece}”, which is translated as {}",
                    pattern.translated
                );
            }
        }
    }

    /// Appends all Rust sources of a folder, with their literals in one line.
    fn read(folder: &Path, sources: &mut String) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension().and_then(|extension| extension.to_str()) {
                _ if entry.is_dir() => read(&entry, sources),
                Some("rs") => {
                    let text = fs::read_to_string(&entry).unwrap();
                    let mut lines = text.split("\\\n");
                    sources.push_str(lines.next().unwrap_or(""));
                    lines.for_each(|line| sources.push_str(line.trim_start()));
                }
                _ => {}
            }
        }
    }
}
