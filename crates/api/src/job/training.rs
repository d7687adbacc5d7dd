//! Training steps, and the number of seeds.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Most seeds of what is trained or drawn several times.
pub const MAX_SEEDS: usize = 100;
/// Most steps of any training.
pub const MAX_STEPS: usize = 1_000_000;

/// Steps of all trainings, and how often what is random is repeated (docs/measures.md, sections 4 to 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Training {
    /// Most steps of a probe; it may stop earlier.
    pub probe_steps: usize,
    /// Steps of each training of the affine map.
    pub baseline_steps: usize,
    /// Steps of healing.
    pub heal_steps: usize,
    /// Seeds, from that of the protocol on, with which every probe is trained and every drawn control is drawn.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub seeds: usize,
}

impl Default for Training {
    fn default() -> Self {
        Self { probe_steps: 4000, baseline_steps: 3000, heal_steps: 200, seeds: 1 }
    }
}

fn one() -> usize {
    1
}

fn is_one(seeds: &usize) -> bool {
    *seeds == 1
}

impl Training {
    /// Refuses more steps than could ever end, and more seeds than anybody needs.
    pub fn check(&self) -> Result<()> {
        let Self { probe_steps, baseline_steps, heal_steps, seeds } = *self;
        let steps = format!("give at most {MAX_STEPS} steps");
        let settings = [
            ("--probe-steps", probe_steps, probe_steps <= MAX_STEPS, &*steps),
            ("--baseline-steps", baseline_steps, baseline_steps <= MAX_STEPS, &*steps),
            ("--heal-steps", heal_steps, heal_steps <= MAX_STEPS, &*steps),
            ("--seeds", seeds, (1..=MAX_SEEDS).contains(&seeds), &*format!("give 1 to {MAX_SEEDS} seeds")),
        ];
        match settings.into_iter().find(|(_, _, is_allowed, _)| !is_allowed) {
            Some((field, value, _, hint)) => {
                Err(Error::InvalidSetting { field: field.into(), value: value.to_string(), hint: hint.into() })
            }
            None => Ok(()),
        }
    }

    /// The seeds, beginning with that of the protocol.
    pub fn seeds_from(&self, first: u64) -> impl Iterator<Item = u64> {
        (0..self.seeds as u64).map(move |at| first.wrapping_add(at))
    }
}
