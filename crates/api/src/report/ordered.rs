//! The settings of a measurement besides model, text and protocol, so that it can be repeated.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::job::{BackendChoice, Blocks, Job, Measure, Ranks, Training};

/// A text or a model beside the measured ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherInput {
    /// File name, hub id or bundled name.
    pub id: String,
    /// Hash of the text's bytes, or over the model's weight files.
    pub sha256: Option<String>,
    /// Windows used.
    pub windows: usize,
}

/// The settings that the rest of the report does not hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ordered {
    /// The measures.
    pub measures: BTreeSet<Measure>,
    /// Requested blocks; `None` is all of them.
    #[serde(default)]
    pub blocks: Option<Blocks>,
    /// Ranks of `rank-swap`, if chosen.
    #[serde(default)]
    pub ranks: Option<Ranks>,
    /// Steps of all trainings.
    #[serde(default)]
    pub training: Training,
    /// The requested device.
    #[serde(default)]
    pub backend: BackendChoice,
    /// The text that perplexity was measured on; `None` is the held-out windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval: Option<OtherInput>,
    /// The model whose rows the controls fed through this one's networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<OtherInput>,
}

impl Ordered {
    /// The settings of a job.
    pub fn of(job: &Job) -> Self {
        Self {
            measures: job.measures.clone(),
            blocks: job.blocks.clone(),
            ranks: job.ranks.clone(),
            training: job.training,
            backend: job.backend,
            ..Self::default()
        }
    }

    /// The union of these settings and those of a later measurement for the same report.
    #[must_use]
    pub fn and(&self, later: &Self) -> Self {
        let blocks = self.blocks.as_ref().zip(later.blocks.as_ref()).map(|(these, those)| these.and(those));
        Self {
            measures: self.measures.union(&later.measures).copied().collect(),
            blocks,
            eval: later.eval.clone().or_else(|| self.eval.clone()),
            feed: later.feed.clone().or_else(|| self.feed.clone()),
            ..later.clone()
        }
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
        let eval = Some(OtherInput { id: "e".into(), ..OtherInput::default() });
        let on_eval = Ordered { eval: eval.clone(), ..order(Measure::Swap, None) };
        assert_eq!(on_eval.and(&order(Measure::Probes, None)).eval, eval, "its perplexity is still there");
        assert_eq!(order(Measure::Fit, None).and(&order(Measure::Probes, Some("2"))).blocks, None, "all stay all");
    }
}
