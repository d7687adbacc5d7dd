//! A continuation in a link: `prompt=The+cook+lived+in&linear=0,3-5&tokens=12&temperature=0.8&seed=7`.
//!
//! Defaults are omitted, and so is what a link cannot carry.

use std::collections::BTreeSet;

use straightedge_api::job::Blocks;

use crate::continuation::{ContinuationForm, Linear};
use crate::text::format::spans;

/// Longest prompt that a link carries: even fully escaped, mail and chats accept the link.
pub const MOST_CHARACTERS: usize = 500;
/// More blocks than any model has.
const MOST_BLOCKS: usize = 10_000;
const ALL: &str = "all";
const NONE: &str = "none";

/// The parameter names, in order.
pub const NAMES: [&str; 5] = ["prompt", "linear", "tokens", "temperature", "seed"];

impl ContinuationForm {
    /// Every name with its current value; `None` for a default, or for more than a link carries.
    pub fn pairs(&self) -> [(&'static str, Option<String>); 5] {
        let usual = Self::default();
        let other = |value: String, usual: &str| Some(value).filter(|value| value != usual);
        let values = [
            other(self.prompt.clone(), &usual.prompt).filter(|prompt| is_carried(prompt)),
            self.blocks.as_ref().map(written),
            number::<usize>(&self.tokens).and_then(|tokens| other(tokens, &usual.tokens)),
            number::<f64>(&self.temperature.replace(',', ".")).and_then(|value| other(value, &usual.temperature)),
            number::<u64>(&self.seed).and_then(|seed| other(seed, &usual.seed)),
        ];
        let mut values = values.into_iter();
        NAMES.map(|name| (name, values.next().flatten()))
    }

    /// A copy with the value of one of [`NAMES`] from a link.
    ///
    /// # Errors
    /// A hint for an invalid value.
    pub fn with(&self, name: &str, value: &str) -> Result<Self, &'static str> {
        let mut form = self.clone();
        match name {
            "prompt" if is_carried(value) => form.prompt = value.into(),
            "prompt" => return Err("give some words, at most 500 characters of them"),
            "linear" => {
                form.blocks =
                    Some(linear(value).ok_or("give all, none, or a list such as 0,3-5 of blocks below 10000")?)
            }
            "tokens" => form.tokens = number::<usize>(value).ok_or("give a whole number")?,
            "temperature" => form.temperature = number::<f64>(value).ok_or("give a number such as 0.8")?,
            _ => form.seed = number::<u64>(value).ok_or("give a whole number")?,
        }
        form.continuation().map(|_| form).map_err(|_| "give 1 to 1000 tokens, and a temperature of 0 to 10")
    }

    /// A copy limited to what a link can carry; values out of range become defaults.
    pub fn linkable(&self) -> Self {
        let pairs = self.pairs().into_iter().filter_map(|(name, value)| Some((name, value?)));
        pairs.fold(Self::default(), |linked, (name, value)| linked.with(name, &value).unwrap_or(linked))
    }

    /// Whether the prompt is longer than a link carries.
    pub fn is_too_long_for_a_link(&self) -> bool {
        self.prompt.chars().count() > MOST_CHARACTERS
    }
}

/// Whether a prompt is text, without control characters other than line ends and tabs.
fn is_carried(prompt: &str) -> bool {
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    !prompt.is_empty()
        && prompt.chars().take(MOST_CHARACTERS + 1).count() <= MOST_CHARACTERS
        && prompt.chars().all(is_text)
}

/// A number in its shortest form.
fn number<T: std::str::FromStr + ToString>(typed: &str) -> Option<String> {
    typed.trim().parse::<T>().ok().map(|number| number.to_string())
}

fn linear(value: &str) -> Option<Linear> {
    match value {
        ALL => Some(Linear::All),
        NONE => Some(Linear::Some(BTreeSet::new())),
        list => Some(Linear::Some(list.parse::<Blocks>().ok()?.within(MOST_BLOCKS).ok()?.into_iter().collect())),
    }
}

fn written(linear: &Linear) -> String {
    match linear {
        Linear::All => ALL.into(),
        Linear::Some(blocks) if blocks.is_empty() => NONE.into(),
        Linear::Some(blocks) => spans(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs_of(form: &ContinuationForm) -> Vec<(&'static str, String)> {
        form.pairs().into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    #[test]
    fn every_choice_comes_back_and_blocks_in_a_row_are_told_by_their_ends() {
        let form = ContinuationForm {
            prompt: " The cook,\nwho lived & “wrote” 100%".into(),
            blocks: Some(Linear::Some([0, 3, 4, 5, 9].into())),
            tokens: " 12 ".into(),
            temperature: "0,80".into(),
            seed: "18446744073709551615".into(),
        };
        let values: Vec<_> = pairs_of(&form).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [form.prompt.as_str(), "0,3-5,9", "12", "0.8", "18446744073709551615"]);
        let back = form.linkable();
        assert_eq!((pairs_of(&back), &back.prompt, &back.blocks), (pairs_of(&form), &form.prompt, &form.blocks));
        for blocks in [Linear::All, Linear::Some(BTreeSet::new())] {
            let form = ContinuationForm { blocks: Some(blocks), ..ContinuationForm::default() };
            assert_eq!((form.linkable(), pairs_of(&form).len()), (form.clone(), 1));
        }
        assert_eq!(
            (ContinuationForm::default().linkable(), pairs_of(&ContinuationForm::default())),
            (ContinuationForm::default(), Vec::new())
        );
    }

    #[test]
    fn what_a_link_cannot_carry_is_left_as_it_is_at_first() {
        let prompt = "ä".repeat(MOST_CHARACTERS);
        let longest = ContinuationForm { prompt: prompt.clone(), ..ContinuationForm::default() };
        assert!(longest.linkable() == longest && !longest.is_too_long_for_a_link());
        let longer = ContinuationForm { prompt: prompt + "ä", tokens: "7".into(), ..ContinuationForm::default() };
        assert!(longer.is_too_long_for_a_link());
        assert_eq!(longer.linkable(), ContinuationForm { tokens: "7".into(), ..ContinuationForm::default() });
        let typed = ContinuationForm {
            prompt: "a\u{0}".into(),
            tokens: "5000".into(),
            temperature: "NaN".into(),
            seed: "-1".into(),
            ..ContinuationForm::default()
        };
        assert_eq!(typed.linkable(), ContinuationForm::default());
    }

    #[test]
    fn hostile_values_are_none() {
        let hostile = [
            ("prompt", ""),
            ("prompt", "a\u{1b}[2J"),
            ("linear", ""),
            ("linear", "5-3"),
            ("linear", "0-99999999"),
            ("linear", "some"),
            ("tokens", "0"),
            ("tokens", "1001"),
            ("tokens", "-1"),
            ("temperature", "inf"),
            ("temperature", "-0.1"),
            ("temperature", "11"),
            ("seed", "1.5"),
            ("seed", "18446744073709551616"),
        ];
        for (name, value) in hostile {
            assert!(ContinuationForm::default().with(name, value).is_err(), "{name}={value}");
        }
    }
}
