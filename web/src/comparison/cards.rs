//! Every known profile as a card: found by words, sorted by a metric, with its finding in a line.

use straightedge_api::fields::Field;

use super::key::Key;
use super::sources::{Source, Sources};
use crate::text::result::finding_of;
use crate::text::{fill, t};

/// One profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Its key in a comparison.
    pub key: Key,
    /// Model and text.
    pub name: String,
    /// Source of its numbers.
    pub source: Source,
    /// What its R² says; `None` without R².
    pub finding: Option<String>,
    /// The metric, or R², block by block.
    pub curve: Vec<Option<f64>>,
    /// Mean of the metric over the blocks that have it.
    pub mean: Option<f64>,
}

impl Sources {
    /// The cards whose name or source holds all words of `search`. With a `metric`, those that have it come first, the
    /// largest mean at the top.
    pub fn cards(&self, search: &str, metric: Option<Field>) -> Vec<Card> {
        let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        let is_selected = |card: &Card| {
            let text = format!("{} {}", card.name, card.source.text()).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let keys = self.choices().into_iter().flat_map(|(_, keys)| keys);
        let own = keys.filter(|key| !matches!(key, Key::Control(..)));
        let mut cards: Vec<Card> = own.filter_map(|key| self.card(key, metric)).filter(is_selected).collect();
        if metric.is_some() {
            // Stable, so that those without the metric stay in their order.
            cards.sort_by(|a, b| {
                let place = |card: &Card| card.mean.unwrap_or(f64::NEG_INFINITY);
                place(b).total_cmp(&place(a))
            });
        }
        cards
    }

    fn card(&self, key: Key, metric: Option<Field>) -> Option<Card> {
        let (name, source, summary) = self.find(&key)?;
        let r2 = [Field::R2Lin, Field::R2LinScalar].into_iter().find(|field| !summary.curve(*field).is_empty());
        let finding = r2.and_then(|field| {
            let known: Vec<f64> = summary.curve(field).iter().copied().flatten().collect();
            let finding = finding_of(&known)?;
            Some(if field == Field::R2Lin { finding } else { fill(t().finding_scalar, &[("finding", &finding)]) })
        });
        let curve = metric.or(r2).map(|field| summary.curve(field).to_vec()).unwrap_or_default();
        let known: Vec<f64> = curve.iter().copied().flatten().collect();
        let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
        Some(Card { key, name, source, finding, curve, mean })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::known;
    use super::*;

    #[test]
    fn cards_are_found_by_all_words_and_sorted_by_a_metric() {
        let known = known();
        let all = known.cards("", None);
        assert!(all.len() > 20 && all.iter().all(|card| !matches!(card.key, Key::Control(..))), "{}", all.len());
        let published = known.cards("GPT2 wikitext published", None);
        assert!(!published.is_empty() && published.len() < all.len());
        assert!(published.iter().all(|card| card.source == Source::Published && card.name.contains("gpt2")));
        assert!(known.cards("gpt2 nowhere", None).is_empty());
        let sorted = known.cards("", Some(Field::R2Lin));
        let means: Vec<_> = sorted.iter().map(|card| card.mean).collect();
        let has = means.iter().filter(|mean| mean.is_some()).count();
        assert!(has > 5 && means[..has].is_sorted_by(|a, b| a >= b), "{means:?}");
        assert!(means[has..].iter().all(Option::is_none) && sorted.len() == all.len());
    }

    #[test]
    fn a_card_says_what_was_found_and_by_which_r2() {
        let known = known();
        let card = |key: Key| known.cards("", None).into_iter().find(|card| card.key == key).unwrap();
        let own = card(Key::Measured(7));
        assert_eq!(own.finding.as_deref(), Some("1 of 2 blocks more than half linear"));
        assert_eq!(own.curve.len(), 2);
        let gpt2 = card(Key::Published("gpt2".into(), "WikiText-2".into()));
        assert_eq!(gpt2.curve.len(), 12);
        assert!(gpt2.finding.unwrap().ends_with("blocks more than half linear by the scalar R²"));
    }
}
