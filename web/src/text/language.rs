//! The languages of the page, and the one in use.
//!
//! English is compiled in. Every other language is one JSON file, which the page fetches when it starts in it.

use std::cell::Cell;
use std::collections::BTreeMap;

/// The texts of one catalogue in another language, by name.
pub type Words = BTreeMap<String, String>;

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
}

thread_local! {
    static IN_USE: Cell<Language> = const { Cell::new(Language::English) };
}

/// Replaces the texts of `names` that `words` has. One function for all catalogues, which keeps the module small.
#[inline(never)]
pub(super) fn translate(names: &[&str], texts: &mut [&mut &'static str], words: &'static Words) {
    for (name, text) in names.iter().zip(texts) {
        if let Some(word) = words.get(*name) {
            **text = word;
        }
    }
}

/// The language in use.
pub fn language() -> Language {
    IN_USE.get()
}

/// Whichever text fits a number of things.
pub fn plural<T>(n: usize, one: T, many: T) -> T {
    let is_one = match language() {
        Language::English | Language::German => n == 1,
    };
    if is_one { one } else { many }
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// Its tag, in links and in the page's `lang` attribute.
    pub fn id(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// Its name in itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
        }
    }

    /// The language of a tag.
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.id() == id)
    }

    /// The file of its texts; `None` if they are compiled in.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Self::English => None,
            Self::German => Some("texts/de.json"),
        }
    }

    /// The language that a link asks for; without one, the first of the browser's that the page has.
    pub fn chosen(requested: Option<Self>, browser: impl IntoIterator<Item = String>) -> Self {
        let known = |tag: String| Self::by_id(tag.split('-').next()?.to_ascii_lowercase().as_str());
        requested.or_else(|| browser.into_iter().find_map(known)).unwrap_or_default()
    }

    /// The decimal sign.
    pub(super) fn decimal(self) -> char {
        match self {
            Self::English => '.',
            Self::German => ',',
        }
    }

    /// A name within a sentence; German nouns keep their capital.
    pub fn within_a_sentence(self, name: &str) -> String {
        let mut letters = name.chars();
        match self {
            Self::English => {
                letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
            }
            Self::German => name.into(),
        }
    }

    /// Uses it from now on in this thread.
    pub(super) fn take(self) {
        IN_USE.set(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(requested: Option<Language>, browser: &[&str]) -> Language {
        Language::chosen(requested, browser.iter().map(ToString::to_string))
    }

    #[test]
    fn a_link_decides_before_the_browser_and_the_first_known_language_before_others() {
        assert_eq!(chosen(Some(Language::English), &["de"]), Language::English);
        assert_eq!(chosen(None, &["de-AT", "en"]), Language::German);
        assert_eq!(chosen(None, &["fr", "DE", "en"]), Language::German);
        assert_eq!(chosen(None, &["en-GB", "de"]), Language::English);
        assert_eq!(chosen(None, &["den", "fr"]), Language::English);
        assert_eq!(chosen(None, &[]), Language::English);
    }

    #[test]
    fn the_first_script_of_the_page_knows_the_same_languages() {
        let ids = Language::ALL.map(|language| format!("'{}'", language.id())).join(", ");
        let script = include_str!("../../public/early.js");
        assert!(script.contains(&format!("const LANGUAGES = [{ids}];")), "{ids}");
    }

    #[test]
    fn nouns_keep_their_capital_where_they_have_one() {
        assert_eq!(Language::English.within_a_sentence("One mean"), "one mean");
        assert_eq!(Language::German.within_a_sentence("Ein Mittelwert"), "Ein Mittelwert");
    }
}
