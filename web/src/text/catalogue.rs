//! The macro that declares a catalogue of texts.

/// A catalogue of texts: their English, and the language in use.
macro_rules! catalogue {
    ($texts:ident, $($name:ident: $text:literal,)*) => {
        /// Texts of one subject; each is documented by its English form.
        #[derive(Clone, Copy, Debug)]
        pub struct $texts {
            $(#[doc = $text] pub $name: &'static str,)*
        }

        static ENGLISH: $texts = $texts { $($name: $text,)* };

        thread_local! {
            static IN_USE: std::cell::Cell<&'static $texts> = const { std::cell::Cell::new(&ENGLISH) };
        }

        impl $texts {
            /// Names of the texts.
            const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// Names and English texts.
            pub(crate) fn english() -> Vec<(String, String)> {
                let texts = [$($text,)*];
                Self::NAMES.iter().zip(texts).map(|(name, text)| ((*name).into(), text.into())).collect()
            }

            /// Uses a translation from now on, and English where it lacks a text.
            pub(crate) fn speak(words: Option<&'static crate::text::language::Words>) {
                IN_USE.set(words.map_or(&ENGLISH, |words| {
                    let mut texts = ENGLISH;
                    crate::text::language::translate(Self::NAMES, &mut [$(&mut texts.$name,)*], words);
                    Box::leak(Box::new(texts))
                }));
            }
        }
    };
}
