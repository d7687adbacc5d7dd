//! What a measurement was ordered with beyond model, text and protocol, so that it can be ordered again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::job::{BackendChoice, Blocks, Job, Measure, Ranks, Training};

/// An order as far as the rest of the report does not tell it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ordered {
    /// What was measured.
    pub measures: BTreeSet<Measure>,
    /// Blocks asked for; `None` is all of them.
    #[serde(default)]
    pub blocks: Option<Blocks>,
    /// Ranks of `rank-swap`, where they were chosen.
    #[serde(default)]
    pub ranks: Option<Ranks>,
    /// Steps of everything that is trained.
    #[serde(default)]
    pub training: Training,
    /// Where it was to be computed.
    #[serde(default)]
    pub backend: BackendChoice,
}

impl Ordered {
    /// That of a job.
    pub fn of(job: &Job) -> Self {
        Self {
            measures: job.measures.clone(),
            blocks: job.blocks.clone(),
            ranks: job.ranks.clone(),
            training: job.training,
            backend: job.backend,
        }
    }

    /// One order for everything that this one and a later one on the same report asked for.
    #[must_use]
    pub fn and(&self, later: &Self) -> Self {
        let blocks = self.blocks.as_ref().zip(later.blocks.as_ref()).map(|(these, those)| these.and(those));
        Self { measures: self.measures.union(&later.measures).copied().collect(), blocks, ..later.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_add_up_to_one_that_asks_for_all_of_both() {
        let order = |measure, blocks: Option<&str>| Ordered {
            measures: [Measure::Fit, measure].into(),
            blocks: blocks.map(|blocks| blocks.parse().unwrap()),
            ..Ordered::default()
        };
        let some = order(Measure::Swap, Some("1,3")).and(&order(Measure::Probes, Some("2")));
        assert_eq!(some.measures, [Measure::Fit, Measure::Swap, Measure::Probes].into());
        assert_eq!(some.blocks, Some("1-3".parse().unwrap()));
        assert_eq!(order(Measure::Fit, None).and(&order(Measure::Probes, Some("2"))).blocks, None, "all stay all");
    }
}
