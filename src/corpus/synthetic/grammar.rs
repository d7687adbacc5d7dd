//! English grammar helpers: articles, plurals, number words, lists, capitals, pronouns.

/// The grammatical gender of a person or an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gender {
    She,
    He,
}

impl Gender {
    /// she, he.
    pub(super) const fn subject(self) -> &'static str {
        match self {
            Self::She => "she",
            Self::He => "he",
        }
    }

    /// her, him.
    pub(super) const fn object(self) -> &'static str {
        match self {
            Self::She => "her",
            Self::He => "him",
        }
    }

    /// her, his.
    pub(super) const fn possessive(self) -> &'static str {
        match self {
            Self::She => "her",
            Self::He => "his",
        }
    }
}

/// The text with a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The noun with "a" or "an".
pub(super) fn a(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// "x", "x and y", "x, y and z".
pub(super) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The possessive of a name.
pub(super) fn s(name: &str) -> String {
    format!("{name}'s")
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number below a million in words: "three hundred and forty-two".
pub(super) fn words(n: u32) -> String {
    let and = |rest: u32, short: &str| if rest == 0 { String::new() } else { format!("{short}{}", words(rest)) };
    match n {
        0..20 => SMALL[n as usize].into(),
        20..100 => TENS[(n / 10) as usize].to_owned() + &and(n % 10, "-"),
        100..1000 => format!("{} hundred{}", words(n / 100), and(n % 100, " and ")),
        _ => {
            let rest = n % 1000;
            format!("{} thousand{}", words(n / 1000), and(rest, if rest < 100 { " and " } else { " " }))
        }
    }
}

/// "one apple", "seven apples"; `plural` is given for irregular nouns.
pub(super) fn count(n: u32, (one, many): (&str, &str)) -> String {
    format!("{} {}", words(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_english() {
        let written = [0, 13, 20, 42, 100, 342, 1000, 1007, 1412, 20_300].map(words);
        assert_eq!(
            written,
            [
                "zero",
                "thirteen",
                "twenty",
                "forty-two",
                "one hundred",
                "three hundred and forty-two",
                "one thousand",
                "one thousand and seven",
                "one thousand four hundred and twelve",
                "twenty thousand three hundred",
            ]
        );
        assert_eq!(count(1, ("loaf", "loaves")), "one loaf");
        assert_eq!(count(2, ("loaf", "loaves")), "two loaves");
    }

    #[test]
    fn lists_articles_and_capitals() {
        assert_eq!(list(&["x"]), "x");
        assert_eq!(list(&["x", "y"]), "x and y");
        assert_eq!(list(&["x", "y", "z"]), "x, y and z");
        assert_eq!((a("oak box"), a("map")), ("an oak box".into(), "a map".into()));
        assert_eq!(capital("the end"), "The end");
    }
}
