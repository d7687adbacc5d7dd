//! A comparison in a link: a preset or a list of keys, the charts, hidden keys, and the front key.
//!
//! Measurements and opened reports of this visit are in no link.

use std::collections::BTreeSet;

use straightedge_api::bundled::Bundled;
use straightedge_api::error::Result;
use straightedge_api::fields::Field;

use crate::comparison::presets::Preset;
use crate::comparison::{Comparison, Key};
use crate::state::form::find;

/// More lines than one chart can distinguish, and than a link needs.
const MOST: usize = 24;

/// The parts of a comparison that a link carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// The preset, if it is one.
    pub preset: Option<Preset>,
    /// Compared keys, if it is not a preset.
    pub runs: Vec<Key>,
    /// Keys hidden from the charts.
    pub without: Vec<Key>,
    /// The front key.
    pub front: Option<Key>,
    /// The charts, if they differ from the initial ones.
    pub charts: BTreeSet<Field>,
}

impl Linked {
    /// The part of a comparison that a link carries.
    pub fn of(comparison: &Comparison, index: &[Bundled]) -> Self {
        let linkable = |key: &&Key| Key::parse(&key.value()).is_some();
        let entries = comparison.entries().iter();
        let runs: Vec<Key> = entries.clone().map(|entry| &entry.key).filter(linkable).cloned().collect();
        let hidden = entries.filter(|entry| entry.is_hidden).map(|entry| &entry.key);
        let preset = comparison.preset().filter(|preset| preset.keys(index) == runs);
        let charts: BTreeSet<_> = comparison.quantities().into_iter().collect();
        let usual = comparison.preset().filter(|_| preset.is_some()).map_or([Field::R2Lin].into(), Preset::quantities);
        Self {
            without: hidden.filter(linkable).cloned().collect(),
            front: comparison.front_key().filter(linkable).cloned(),
            charts: if charts == usual || runs.is_empty() { BTreeSet::new() } else { charts },
            runs: if preset.is_some() { Vec::new() } else { runs },
            preset,
        }
    }

    /// Whether a link carries none of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The comparison of a link.
    ///
    /// # Errors
    /// It names a model that is not bundled.
    pub fn comparison(&self, index: &[Bundled]) -> Result<Comparison> {
        let mut comparison = Comparison::default();
        if let Some(preset) = self.preset {
            comparison.begin(preset, preset.keys(index));
        }
        for key in &self.runs {
            key.bundled().map_or(Ok(()), |name| find(index, name).map(|_| ()))?;
            comparison.add(key.clone());
        }
        self.without.iter().for_each(|key| comparison.toggle(key));
        if !self.charts.is_empty() {
            comparison.show_only(self.charts.clone());
        }
        let front = self.front.as_ref();
        let at = front.and_then(|front| comparison.shown().iter().position(|entry| entry.key == *front));
        comparison.bring_to_front(at);
        Ok(comparison)
    }
}

/// Parses a list of keys; `None` if one is invalid or there are too many.
pub fn keys(list: &str) -> Option<Vec<Key>> {
    let keys: Vec<_> = list.split(',').take(MOST + 1).map(Key::parse).collect::<Option<_>>()?;
    (keys.len() <= MOST).then_some(keys)
}

/// Keys as a list.
pub fn listed(keys: &[Key]) -> Option<String> {
    (!keys.is_empty()).then(|| keys.iter().map(Key::value).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::presets::tests::index;

    fn again(comparison: &Comparison) -> Comparison {
        Linked::of(comparison, &index()).comparison(&index()).unwrap()
    }

    #[test]
    fn a_ready_comparison_is_said_by_its_name_alone() {
        for preset in Preset::ALL.into_iter().chain(Preset::PAPER) {
            let mut comparison = Comparison::default();
            comparison.begin(preset, preset.keys(&index()));
            let linked = Linked::of(&comparison, &index());
            assert_eq!(linked, Linked { preset: Some(preset), ..Linked::default() });
            assert_eq!(again(&comparison), comparison);
        }
        assert!(Linked::of(&Comparison::default(), &index()).is_empty());
    }

    #[test]
    fn whatever_is_changed_comes_back_but_for_this_visits_own() {
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Training, Preset::Training.keys(&index()));
        comparison.toggle(&Key::Recorded("demo-gpt2-step0".into()));
        comparison.bring_to_front(Some(2));
        comparison.toggle_quantity(Field::Linearity);
        assert_eq!(again(&comparison), comparison);
        comparison.add(Key::Published("gpt2".into(), "math puzzles".into()));
        let listed = again(&comparison);
        assert_eq!(listed.entries(), comparison.entries());
        assert_eq!((listed.front(), listed.quantities()), (comparison.front(), comparison.quantities()));
        comparison.add(Key::Measured(3));
        assert_eq!(again(&comparison), listed);
    }

    #[test]
    fn lists_have_an_end_and_models_must_be_there() {
        assert_eq!(keys(&vec!["recorded:a"; MOST].join(",")).map(|keys| keys.len()), Some(MOST));
        assert_eq!(keys(&vec!["recorded:a"; MOST + 1].join(",")), None);
        assert_eq!(keys("recorded:a,measured:1"), None);
        let absent = Linked { runs: keys("recorded:absent").unwrap(), ..Linked::default() };
        assert!(absent.comparison(&index()).unwrap_err().to_string().contains("absent"));
    }
}
