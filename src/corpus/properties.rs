//! Properties of tokens that need no labels by hand, for reading them out of the residual stream
//! (docs/measures.md, section 7).
//!
//! A class depends on the window alone, because a model sees no more.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{IncrementalDecoder, TokenWindows, Tokenizer, synthetic};
use crate::error::Result;

/// Tokens with a class of their own; all others are one class.
const FREQUENT: usize = 16;
/// Classes of the position.
const PARTS: usize = 8;
/// Least share of tokens that must have the property, as 1 in this many.
const LEAST: usize = 2;

/// A property with its class at every token of some windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name in reports.
    pub name: &'static str,
    /// Number of classes.
    pub classes: usize,
    /// Class of each token, window after window; `None` where there is none, as of a next token after the last one.
    pub labels: Vec<Option<usize>>,
}

/// Properties of the tokens of some windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    seq_len: usize,
    /// All of them, each with at least two classes.
    pub all: Vec<Property>,
}

impl Properties {
    /// The properties of a text's windows; those of its words only with a tokenizer.
    ///
    /// # Errors
    /// Token ids that the tokenizer cannot decode.
    pub fn of(windows: &TokenWindows, tokenizer: Option<&Tokenizer>) -> Result<Self> {
        let (ids, seq_len) = (windows.ids(0..windows.len()), windows.seq_len());
        let mut found = vec![("token", tokens(ids)), ("position", positions(ids.len(), seq_len))];
        if let Some(tokenizer) = tokenizer {
            let mut texts = Vec::with_capacity(ids.len());
            for window in ids.chunks_exact(seq_len) {
                let mut decoder = IncrementalDecoder::after(&[]);
                for id in window {
                    texts.push(decoder.push(tokenizer, *id)?.text);
                }
            }
            let by_window =
                |of: &dyn Fn(&[String]) -> Vec<Option<usize>>| texts.chunks_exact(seq_len).flat_map(of).collect();
            found.push(("next_kind", by_window(&|window| following(&kinds(window)))));
            found.push((
                "sentence_end",
                by_window(&|window| following(&window.iter().map(|text| ends(text)).collect::<Vec<_>>())),
            ));
            found.push(("person", by_window(&|window| last_named(window, &synthetic::people()))));
            found.push(("place", by_window(&|window| last_named(window, &synthetic::places()))));
        }
        Ok(Self { seq_len, all: found.into_iter().filter_map(|(name, labels)| Property::new(name, labels)).collect() })
    }

    /// Number of classes of all properties together.
    pub fn columns(&self) -> usize {
        self.all.iter().map(|property| property.classes).sum()
    }

    /// Rows of the windows, with 1 in the column of each property's class and 0 elsewhere.
    pub fn targets(&self, windows: &Range<usize>) -> Vec<f32> {
        let tokens = windows.start * self.seq_len..windows.end * self.seq_len;
        let mut rows = vec![0.0; tokens.len() * self.columns()];
        for (row, token) in rows.chunks_exact_mut(self.columns()).zip(tokens) {
            let mut first = 0;
            for property in &self.all {
                if let Some(class) = property.labels[token] {
                    row[first + class] = 1.0;
                }
                first += property.classes;
            }
        }
        rows
    }
}

impl Property {
    /// A property whose classes are numbered without gaps; `None` if it does not vary, or if few tokens have it.
    fn new(name: &'static str, labels: Vec<Option<usize>>) -> Option<Self> {
        let mut classes: Vec<usize> = labels.iter().flatten().copied().collect();
        let enough = classes.len() * LEAST >= labels.len();
        classes.sort_unstable();
        classes.dedup();
        let number = |label: usize| classes.binary_search(&label).ok();
        let labels = labels.into_iter().map(|label| label.and_then(number)).collect();
        (enough && classes.len() > 1).then_some(Self { name, classes: classes.len(), labels })
    }
}

/// The token itself, if it is one of the most frequent.
fn tokens(ids: &[u32]) -> Vec<Option<usize>> {
    let mut counts = BTreeMap::new();
    ids.iter().for_each(|id| *counts.entry(*id).or_insert(0_usize) += 1);
    let mut frequent: Vec<(u32, usize)> = counts.into_iter().collect();
    frequent.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
    frequent.truncate(FREQUENT);
    let class = |id: &u32| frequent.iter().position(|(known, _)| known == id).unwrap_or(FREQUENT);
    ids.iter().map(|id| Some(class(id))).collect()
}

/// The eighth of the window.
fn positions(tokens: usize, seq_len: usize) -> Vec<Option<usize>> {
    (0..tokens).map(|token| Some(token % seq_len * PARTS / seq_len)).collect()
}

/// The kind of each token of a window: begins a word, continues one, number, line break, or other signs.
fn kinds(window: &[String]) -> Vec<usize> {
    let mut before = ' ';
    let mut kind = |text: &String| {
        let first = text.trim_start().chars().next();
        let is_new = text.starts_with(char::is_whitespace) || !before.is_alphanumeric();
        before = text.chars().next_back().unwrap_or(before);
        match first {
            _ if text.contains('\n') => 3,
            Some(first) if first.is_numeric() => 2,
            Some(first) if first.is_alphabetic() => usize::from(!is_new),
            Some(_) => 4,
            // Blanks announce a word; bytes of an unfinished character continue one.
            None => usize::from(text.is_empty()),
        }
    };
    window.iter().map(&mut kind).collect()
}

/// Whether a token ends a sentence.
fn ends(text: &str) -> usize {
    usize::from(text.contains(['.', '!', '?']))
}

/// The class of the token that follows each one.
fn following(classes: &[usize]) -> Vec<Option<usize>> {
    classes.iter().skip(1).copied().map(Some).chain([None]).collect()
}

/// Which of the names was written last, up to and with each token; `None` before the first.
fn last_named(window: &[String], names: &[&str]) -> Vec<Option<usize>> {
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let (mut text, mut last) = (String::new(), None);
    let mut named = |piece: &String| {
        let mut start = text.len().saturating_sub(longest);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        text.push_str(piece);
        let recent = &text[start..];
        let found = names.iter().enumerate().filter_map(|(at, name)| Some((recent.rfind(name)? + name.len(), at)));
        last = found.max().filter(|(end, _)| start + end > text.len() - piece.len()).map(|(_, at)| at).or(last);
        last
    };
    window.iter().map(&mut named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Protocol;

    fn texts(text: &str) -> Vec<String> {
        text.split('|').map(Into::into).collect()
    }

    #[test]
    fn kinds_and_ends_are_those_of_the_next_token() {
        let window = texts("On|ce| 7| “|Ada|”|, b|.|\n|");
        assert_eq!(kinds(&window), [0, 1, 2, 4, 0, 4, 4, 4, 3, 1]);
        assert_eq!(following(&[5, 6, 7]), [Some(6), Some(7), None]);
        assert_eq!(window.iter().map(|text| ends(text)).sum::<usize>(), 1);
    }

    #[test]
    fn the_name_written_last_counts_from_its_last_piece_on() {
        let window = texts("The| A|da| saw| Lena|.| Ad|a and Lena");
        let found = last_named(&window, &["Ada", "Lena"]);
        assert_eq!(found, [None, None, Some(0), Some(0), Some(1), Some(1), Some(1), Some(1)]);
        assert_eq!(last_named(&texts("é|é Ada|x"), &["Ada"]), [None, Some(0), Some(0)]);
    }

    #[test]
    fn rare_classes_are_numbered_without_gaps_and_rare_properties_are_left_out() {
        let property = Property::new("a", vec![Some(7), None, Some(2), Some(7)]).expect("a property");
        assert_eq!((property.classes, &*property.labels), (2, &[Some(1), None, Some(0), Some(1)][..]));
        assert_eq!(Property::new("a", vec![Some(1), Some(2), None, None, None]), None, "most have none");
        assert_eq!(Property::new("a", vec![Some(1); 9]), None, "one class");
    }

    #[test]
    fn targets_have_a_one_per_property() {
        let protocol = Protocol { seq_len: 8, rows: 16, folds: 2, ..Protocol::default() };
        let ids: Vec<u32> = (0..16).map(|at| at % 3).collect();
        let windows = TokenWindows::new("t", ids, &protocol).expect("windows");
        let found = Properties::of(&windows, None).expect("properties");
        assert_eq!(found.all.iter().map(|p| (p.name, p.classes)).collect::<Vec<_>>(), [("token", 3), ("position", 8)]);
        let rows = found.targets(&(1..2));
        assert_eq!(rows.len(), 8 * 11);
        // The second window begins with the ninth token, which is 8 % 3 = 2; 0 is the most frequent.
        assert_eq!(&rows[..11], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(rows.chunks_exact(11).all(|row| row.iter().sum::<f32>() == 2.0));
    }
}
