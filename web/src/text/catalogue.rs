//! The macro that declares a catalogue of texts.

/// A catalogue of texts: their English, and the language in use.
macro_rules! catalogue {
    ($texts:ident, $($name:ident: $text:literal,)*) => {
        /// Texts of one subject; each is documented by its English form.
        #[derive(Debug)]
        pub struct $texts {
            $(#[doc = $text] pub $name: &'static str,)*
        }

        static ENGLISH: $texts = $texts { $($name: $text,)* };

        thread_local! {
            static IN_USE: std::cell::Cell<&'static $texts> = const { std::cell::Cell::new(&ENGLISH) };
        }

        impl $texts {
            /// Names and English texts.
            pub(crate) fn english() -> Vec<(String, String)> {
                vec![$((stringify!($name).into(), $text.into()),)*]
            }

            /// Uses a translation from now on, and English where it lacks a text.
            pub(crate) fn speak(words: Option<&'static crate::text::language::Words>) {
                IN_USE.set(words.map_or(&ENGLISH, |words| {
                    let text = |name: &str, english| words.get(name).map_or(english, String::as_str);
                    Box::leak(Box::new($texts { $($name: text(stringify!($name), $text),)* }))
                }));
            }
        }
    };
}
