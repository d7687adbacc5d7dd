//! The chosen comparison: its entries, their styles, the front entry, and the charts.

use std::collections::BTreeSet;

use straightedge_api::fields::Field;

use super::key::Key;
use super::presets::Preset;

/// One compared item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Index of its style, unchanged while others are added and removed.
    pub style: usize,
    /// Whether it is left out of the chart.
    pub is_hidden: bool,
}

/// The compared items and how they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    entries: Vec<Entry>,
    front: Option<Key>,
    quantities: BTreeSet<Field>,
    preset: Option<Preset>,
}

impl Comparison {
    /// The entries, in the order they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a key.
    pub fn entry(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }

    /// Quantities with a chart; R² if none is chosen.
    pub fn quantities(&self) -> Vec<Field> {
        if self.quantities.is_empty() { vec![Field::R2Lin] } else { self.quantities.iter().copied().collect() }
    }

    /// The preset it started from.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Starts over with a preset.
    pub fn begin(&mut self, preset: Preset, keys: Vec<Key>) {
        *self = Self { preset: Some(preset), quantities: preset.quantities(), ..Self::default() };
        keys.into_iter().for_each(|key| self.add(key));
    }

    /// Adds a key with the first unused style.
    pub fn add(&mut self, key: Key) {
        if self.entry(&key).is_some() {
            return;
        }
        let is_free = |style: &usize| self.entries.iter().all(|entry| entry.style != *style);
        let style = (0..).find(is_free).unwrap_or_default();
        self.entries.push(Entry { key, style, is_hidden: false });
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &Key) {
        self.entries.retain(|entry| entry.key != *key);
        self.front = self.front.take().filter(|front| front != key);
    }

    /// Hides a key, or shows it again.
    pub fn toggle(&mut self, key: &Key) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == *key) {
            entry.is_hidden = !entry.is_hidden;
        }
        self.front = self.front.take().filter(|front| front != key);
    }

    /// Adds or removes the chart of a quantity; the last one stays.
    pub fn toggle_quantity(&mut self, quantity: Field) {
        self.quantities = self.quantities().into_iter().collect();
        if !self.quantities.insert(quantity) && self.quantities.len() > 1 {
            self.quantities.remove(&quantity);
        }
    }

    /// Shows charts of exactly these quantities.
    pub fn show_only(&mut self, quantities: BTreeSet<Field>) {
        self.quantities = quantities;
    }

    /// Ensures that a quantity has a chart.
    pub fn show_quantity(&mut self, quantity: Field) {
        if !self.quantities().contains(&quantity) {
            self.toggle_quantity(quantity);
        }
    }

    /// Entries that can be in front: all that are not hidden.
    pub fn shown(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| !entry.is_hidden).collect()
    }

    /// Position of the front entry in [`Self::shown`].
    pub fn front(&self) -> Option<usize> {
        let front = self.front.as_ref()?;
        self.shown().iter().position(|entry| entry.key == *front)
    }

    /// Key of the front entry.
    pub fn front_key(&self) -> Option<&Key> {
        self.front.as_ref()
    }

    /// Brings an entry to the front, or none.
    pub fn bring_to_front(&mut self, at: Option<usize>) {
        self.front = at.and_then(|at| self.shown().get(at).map(|entry| entry.key.clone()));
    }

    /// Brings the next entry to the front, the first after the last.
    pub fn advance(&mut self) {
        let next = self.front().map_or(0, |at| at + 1);
        let count = self.shown().len().max(1);
        self.bring_to_front(Some(next % count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(names: &[&str]) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Families, names.iter().map(|name| Key::Recorded(name.to_string())).collect());
        comparison
    }

    fn styles(comparison: &Comparison) -> Vec<usize> {
        comparison.entries().iter().map(|entry| entry.style).collect()
    }

    #[test]
    fn looks_stay_while_others_come_and_go() {
        let mut comparison = recorded(&["a", "b", "c", "b"]);
        assert_eq!(styles(&comparison), [0, 1, 2]);
        comparison.remove(&Key::Recorded("b".into()));
        assert_eq!(styles(&comparison), [0, 2]);
        comparison.add(Key::Measured(4));
        comparison.add(Key::Measured(5));
        assert_eq!(styles(&comparison), [0, 2, 1, 3]);
    }

    #[test]
    fn the_front_goes_round_what_is_shown() {
        let mut comparison = recorded(&["a", "b", "c"]);
        let fronts: Vec<_> = (0..4)
            .map(|_| {
                comparison.advance();
                comparison.front()
            })
            .collect();
        assert_eq!(fronts, [Some(0), Some(1), Some(2), Some(0)]);
        comparison.bring_to_front(Some(2));
        comparison.toggle(&Key::Recorded("b".into()));
        assert_eq!(comparison.front(), Some(1), "it stays in front where another is hidden");
        comparison.toggle(&Key::Recorded("c".into()));
        assert_eq!(comparison.front(), None, "what is hidden is not in front");
        comparison.bring_to_front(Some(9));
        assert_eq!(comparison.front(), None);
    }

    #[test]
    fn there_is_always_a_chart() {
        let mut comparison = Comparison::default();
        assert_eq!(comparison.quantities(), [Field::R2Lin]);
        comparison.toggle_quantity(Field::R2Lin);
        assert_eq!(comparison.quantities(), [Field::R2Lin]);
        comparison.toggle_quantity(Field::Linearity);
        comparison.toggle_quantity(Field::R2Lin);
        comparison.toggle_quantity(Field::Linearity);
        assert_eq!(comparison.quantities(), [Field::Linearity], "the last one stays");
        comparison.show_quantity(Field::Linearity);
        assert_eq!(comparison.quantities(), [Field::Linearity]);
    }
}
