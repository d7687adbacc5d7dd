//! Enums whose variants are sentences with values: one table gives the type, its text, and its form as plain data.
//!
//! A variant is written as `Name { field: Type } = "{field}: a sentence"`. Its values cross between the engine and the
//! page as texts, because code that reads and writes each variant by itself was a twentieth of the page's module.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

/// A sentence as it crosses between engine and page: the variant's name, and its values in their order.
#[derive(Serialize, Deserialize)]
pub(crate) struct Crossing(pub(crate) String, pub(crate) Vec<String>);

/// A value of a sentence.
pub(crate) trait Value: Sized {
    /// The value as the sentence says it.
    fn text(&self) -> String;
    /// The value from [`Value::text`].
    fn read(text: &str) -> Option<Self>;
}

impl Value for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn read(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

/// Numbers and lists of numbers.
macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Value for $number {
            fn text(&self) -> String {
                debug(self)
            }

            fn read(text: &str) -> Option<Self> {
                serde_json::from_str(text).ok()
            }
        })*
    };
}

numbers!(usize, u32, u64, Vec<usize>, Vec<u64>);

fn debug(value: &dyn Debug) -> String {
    format!("{value:?}")
}

/// A template with each `{name}` replaced by its value, in one pass, so that no value is read as a template. Names
/// without a value stay as they are.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let found = after.split_once('}');
        let found = found.and_then(|(name, end)| Some((values.iter().find(|(known, _)| *known == name)?.1, end)));
        let (value, end) = found.unwrap_or(("{", after));
        text.push_str(before);
        text.push_str(value);
        rest = end;
    }
    text + rest
}

/// The name of a variant in lower case, with underscores.
pub(crate) fn code(name: &str) -> String {
    let mut code = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(letter.to_ascii_lowercase());
    }
    code
}

/// Declares an enum of sentences. See the module.
macro_rules! sentences {
    ($(#[$about:meta])* $vis:vis enum $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident
            $({ $($(#[$of_field:meta])* $field:ident: $type:ty),* $(,)? })? = $sentence:literal,)*
    }) => {
        $(#[$about])*
        #[allow(missing_docs, reason = "fields are explained where their name does not")]
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(into = "crate::sentences::Crossing", try_from = "crate::sentences::Crossing")]
        $vis enum $enum {
            $($(#[$of_variant])* #[doc = concat!("\n\n`", $sentence, "`")] $variant
                $({ $($(#[$of_field])* $field: $type),* })?,)*
        }

        impl $enum {
            /// Names of all variants with their sentences.
            $vis const SENTENCES: &[(&'static str, &'static str)] = &[$((stringify!($variant), $sentence)),*];

            /// Stable identifier.
            $vis fn code(&self) -> String {
                crate::sentences::code(self.parts().0)
            }

            /// The variant's name, its sentence, and its values by name.
            pub(crate) fn parts(&self) -> (&'static str, &'static str, Vec<(&'static str, String)>) {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        let values = vec![$($((stringify!($field), crate::sentences::Value::text($field))),*)?];
                        (stringify!($variant), $sentence, values)
                    })*
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (_, sentence, values) = self.parts();
                let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
                out.write_str(&crate::sentences::fill(sentence, &values))
            }
        }

        impl From<$enum> for crate::sentences::Crossing {
            fn from(sentence: $enum) -> Self {
                let (name, _, values) = sentence.parts();
                Self(name.into(), values.into_iter().map(|(_, value)| value).collect())
            }
        }

        impl TryFrom<crate::sentences::Crossing> for $enum {
            type Error = String;

            fn try_from(crossing: crate::sentences::Crossing) -> std::result::Result<Self, String> {
                let crate::sentences::Crossing(name, values) = crossing;
                #[allow(unused_mut, unused_variables, reason = "an enum may have no values at all")]
                let mut values = values.iter();
                let mut read = || match name.as_str() {
                    $(stringify!($variant) => Some(Self::$variant
                        $({ $($field: crate::sentences::Value::read(values.next()?)?),* })?),)*
                    _ => None,
                };
                read().ok_or_else(|| format!("no sentence {name} with these values"))
            }
        }
    };
}

pub(crate) use sentences;

#[cfg(test)]
mod tests {
    use super::*;

    sentences! {
        /// Two sentences.
        pub(super) enum Message {
            /// With values.
            Shape { name: String, shape: Vec<usize>, at: u64 } = "{name}: {shape} at {at}; {name} again",
            /// Without.
            Nothing = "nothing",
        }
    }

    #[test]
    fn sentences_are_filled_once_and_cross_unchanged() {
        let shape = Message::Shape { name: "{at}".into(), shape: vec![2, 3], at: 7 };
        assert_eq!(shape.to_string(), "{at}: [2, 3] at 7; {at} again", "a value is no template");
        assert_eq!(fill("a { b {c} {d", &[("c", "{d}"), ("d", "e")]), "a { b {d} {d", "what is no placeholder stays");
        assert_eq!(Message::Nothing.to_string(), "nothing");
        for message in [shape, Message::Nothing] {
            let json = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message, "{json}");
        }
        assert_eq!(Message::SENTENCES[1], ("Nothing", "nothing"));
        assert_eq!((Message::Nothing.code(), code("FewRows")), ("nothing".into(), "few_rows".into()));
    }

    #[test]
    fn what_is_no_sentence_is_refused_by_name() {
        for json in [r#"["Other",[]]"#, r#"["Shape",["a","[1]"]]"#, r#"["Shape",["a","[1]","-7"]]"#] {
            assert!(serde_json::from_str::<Message>(json).unwrap_err().to_string().contains("no sentence"), "{json}");
        }
    }
}
