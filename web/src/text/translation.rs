//! A translation: all catalogues in another language, by their names, and how the page takes it over.

use std::collections::BTreeMap;

use super::language::{Language, Words};
use super::{
    Texts, continuation, detail, differences, engine, glossary, groups, history, lesson, orders, pairs, paper, probes,
    result, sentences, units, verdict,
};

/// The texts of every catalogue.
pub type Translation = BTreeMap<String, Words>;

/// One catalogue: how it takes its texts over, and its English.
struct Catalogue {
    name: &'static str,
    speak: fn(Option<&'static Words>),
    #[cfg_attr(not(test), allow(dead_code, reason = "tests hold translations against it"))]
    english: fn() -> Vec<(String, String)>,
}

/// The lines of the table of catalogues.
macro_rules! catalogues {
    ($($name:literal: $texts:path,)*) => {
        [$(Catalogue { name: $name, speak: <$texts>::speak, english: <$texts>::english },)*]
    };
}

/// Every catalogue whose English is compiled in as such.
const CATALOGUES: [Catalogue; 15] = catalogues![
    "page": Texts,
    "continuation": continuation::Texts,
    "detail": detail::Texts,
    "glossary": glossary::Texts,
    "groups": groups::Texts,
    "history": history::Texts,
    "lesson": lesson::Texts,
    "orders": orders::Texts,
    "differences": differences::Texts,
    "pairs": pairs::Texts,
    "paper": paper::Texts,
    "probes": probes::Texts,
    "result": result::Texts,
    "units": units::Texts,
    "verdict": verdict::Texts,
];
/// The engine's names.
const ENGINE: Catalogue = Catalogue { name: "engine", speak: engine::speak, english: engine::english };
/// Name of the catalogue of bundled models, whose English is in their list.
const MODELS: &str = "models";
/// Name of the catalogue of errors and warnings. Its texts, like those of the next, are named by their English.
const SENTENCES: &str = "sentences";
/// Name of the catalogue of phrases that fill errors and warnings.
const PHRASES: &str = "phrases";

/// Uses a language from now on in this thread; texts that its translation lacks are in English. Texts live as long as
/// the page, which calls this once.
pub fn speak(language: Language, translation: Translation) {
    let translation: &'static Translation = Box::leak(Box::new(translation));
    for catalogue in CATALOGUES.iter().chain([&ENGINE]) {
        (catalogue.speak)(translation.get(catalogue.name));
    }
    engine::speak_of_models(translation.get(MODELS));
    sentences::speak(translation.get(SENTENCES), translation.get(PHRASES));
    language.take();
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use straightedge_api::error::Error;
    use straightedge_api::report::WarningKind;

    use super::*;
    use crate::text::format::fixed;
    use crate::text::{fill, t};

    /// The translation into a language, as the page fetches it.
    fn translation(language: Language) -> Translation {
        let Some(file) = language.file() else { return Translation::new() };
        let file = format!("{}/public/{file}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    /// Uses a language in the thread of a test.
    pub(crate) fn speaking(language: Language) {
        speak(language, translation(language));
    }

    /// English texts by catalogue.
    fn english() -> Translation {
        let known = CATALOGUES.iter().chain([&ENGINE]);
        let mut all: Translation =
            known.map(|catalogue| (catalogue.name.into(), (catalogue.english)().into_iter().collect())).collect();
        all.insert(MODELS.into(), engine::english_models().into_iter().collect());
        let sentences = Error::SENTENCES.iter().chain(WarningKind::SENTENCES).map(|(_, text)| *text);
        all.insert(SENTENCES.into(), sentences.map(|text| (text.into(), text.into())).collect());
        // Phrases are found in the sources by a test of their own.
        let phrases = translation(Language::German)[PHRASES].keys().map(|text| (text.clone(), text.clone())).collect();
        all.insert(PHRASES.into(), phrases);
        all
    }

    /// Every text of a translation with its English and its place.
    fn pairs(language: Language) -> Vec<(String, String, String)> {
        let translation = translation(language);
        let pair = |(catalogue, words): (String, Words)| {
            let translated = translation[&catalogue].clone();
            let pair =
                move |(name, text): (String, String)| (format!("{catalogue}.{name}"), text, translated[&name].clone());
            words.into_iter().map(pair).collect::<Vec<_>>()
        };
        english().into_iter().flat_map(pair).collect()
    }

    fn translated() -> impl Iterator<Item = Language> {
        Language::ALL.into_iter().filter(|language| language.file().is_some())
    }

    /// The placeholders of a text.
    fn gaps(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
    }

    /// The numbers in a text, sorted, each as it is written in English.
    fn numbers(text: &str, decimal: char) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
        let mut found = vec![String::new()];
        for (at, letter) in letters.iter().enumerate() {
            let is_inside = at > 0 && is_digit(at - 1) && is_digit(at + 1);
            match letter {
                letter if letter.is_ascii_digit() => found.last_mut().unwrap().push(*letter),
                letter if *letter == decimal && is_inside => found.last_mut().unwrap().push('.'),
                _ => found.push(String::new()),
            }
        }
        found.retain(|number| !number.is_empty());
        found.sort();
        found
    }

    #[test]
    fn a_translation_has_every_text_and_no_other() {
        let names = |all: Translation| -> BTreeSet<_> {
            let flat =
                |(catalogue, words): (String, Words)| words.into_keys().map(move |name| format!("{catalogue}.{name}"));
            all.into_iter().flat_map(flat).collect()
        };
        for language in translated() {
            let (known, given) = (names(english()), names(translation(language)));
            assert_eq!(known.difference(&given).collect::<Vec<_>>(), Vec::<&String>::new(), "{language:?} lacks texts");
            assert_eq!(given.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "{language:?} has others");
            assert!(known.len() > 800, "{}", known.len());
        }
    }

    #[test]
    fn a_translation_has_the_placeholders_paragraphs_and_ends_of_its_english() {
        for (place, text, translated) in translated().flat_map(pairs) {
            assert_eq!(gaps(&translated), gaps(&text), "{place}");
            assert_eq!(translated.lines().count(), text.lines().count(), "{place}");
            let ends =
                |text: &str| [text.starts_with(' '), text.ends_with(' '), text.ends_with('.'), text.ends_with('…')];
            assert_eq!(ends(&translated), ends(&text), "{place}: {translated}");
            assert!(!translated.trim().is_empty() && !translated.contains(['"', '\u{27}']), "{place}: {translated}");
        }
        let words = |text: &str| text.split(' ').count();
        let numbers = pairs(Language::German).into_iter().find(|(place, ..)| place == "verdict.numbers").unwrap();
        assert_eq!(words(&numbers.2), words(&numbers.1));
    }

    #[test]
    fn a_translation_has_the_numbers_of_its_english_with_the_decimal_sign_of_its_language() {
        // English numbers of the lesson are held against the recordings; these therefore agree with them too.
        let mut checked = 0;
        for language in translated() {
            for (place, text, translated) in pairs(language) {
                // Numbers of papers, links and versions have a point in every language.
                let with_point = ["2606.19379", "2405.12250", "such as 0.8", "wie 0.8", "ersion 0.2", "ersion 1.6"];
                let plain = |text: &str| with_point.iter().fold(text.to_string(), |text, id| text.replace(id, ""));
                let (expected, found) = (numbers(&plain(&text), '.'), numbers(&plain(&translated), language.decimal()));
                assert_eq!(found, expected, "{place}: {translated}");
                checked += found.len();
            }
        }
        assert!(checked > 150, "{checked}");
    }

    #[test]
    fn texts_and_numbers_are_those_of_the_language_in_use() {
        assert_eq!((t().measure, fixed(Some(-0.85), 3).as_str()), ("Measure", "−0.850"));
        speaking(Language::German);
        assert_eq!((t().measure, fixed(Some(-0.85), 3).as_str()), ("Messen", "−0,850"));
        let summary = [("rows", "1"), ("folds", "2"), ("seq_len", "3")];
        assert_eq!(fill(t().protocol_summary, &summary), "1 Zeilen, Fenster zu 3, 2 Folds");
        speaking(Language::English);
        assert_eq!((t().measure, fixed(Some(-0.85), 3).as_str()), ("Measure", "−0.850"));
    }

    #[test]
    fn what_a_translation_lacks_is_in_english() {
        let page = Words::from([("cancel".into(), "Abbrechen".into())]);
        speak(Language::German, [("page".into(), page)].into());
        assert_eq!((t().cancel, t().measure), ("Abbrechen", "Measure"));
        assert_eq!(lesson::l().next, "Next");
    }
}
