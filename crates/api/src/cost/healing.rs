//! The steps of healing: how many there are, and the arithmetic of one.

use crate::job::Measure;
use crate::probes;
use crate::report::Report;

/// Windows of one step.
const WINDOWS: f64 = 8.0;
/// Those of the training that follows the paper's code.
const ADAM_WINDOWS: f64 = 4.0;
/// Cost of forward and backward pass relative to the forward pass.
pub(super) const WITH_GRADIENTS: f64 = 3.0;

/// Multiply-adds of the steps of one model.
pub(super) struct HealingSteps {
    /// Number of layers.
    pub(super) layers: f64,
    /// Multiply-adds per row through all layers.
    pub(super) body: f64,
    /// Those of logits.
    pub(super) head: f64,
    /// Rows of a window.
    pub(super) window: f64,
}

impl HealingSteps {
    /// A step of one training of a block, by the name of what is trained.
    pub(super) fn of(&self, block: usize, name: &str) -> f64 {
        self.of_windows(block, if name == "linear_adam" { ADAM_WINDOWS } else { WINDOWS })
    }

    /// The mean step of all `trainings` of a block, one of which follows the paper's code.
    pub(super) fn mean(&self, block: usize, trainings: f64) -> f64 {
        self.of_windows(block, ((trainings - 1.0) * WINDOWS + ADAM_WINDOWS) / trainings)
    }

    fn of_windows(&self, block: usize, windows: f64) -> f64 {
        let remaining = 1.0 - block as f64 / self.layers;
        windows * self.window * WITH_GRADIENTS * (remaining * self.body + self.head)
    }

    /// A step of half of the blocks or layers together. One of two trainings also computes the streams of the untouched
    /// model.
    pub(super) fn together(&self) -> f64 {
        WINDOWS * self.window * (WITH_GRADIENTS + 0.5) * (self.body + self.head)
    }

    /// The steps that a report has: numbers of them, each with the multiply-adds of one.
    pub(super) fn recorded(&self, report: &Report) -> Vec<(f64, f64)> {
        let blocks = report.blocks.iter().flat_map(|block| block.heal.iter().map(move |healed| (block.block, healed)));
        let of_blocks = blocks.map(|(block, (name, heal))| (heal.steps as f64, self.of(block, name)));
        let halves = report.healed_together.values();
        let together = halves.map(|healed| (healed.steps as f64 * healed.delta_ppl.len() as f64, self.together()));
        of_blocks.chain(together).collect()
    }
}

/// Number of trainings per block: two of its map, one of the network, one per probe.
pub(super) fn trainings(report: &Report) -> f64 {
    let asks = |measure| report.ordered.as_ref().is_some_and(|ordered| ordered.measures.contains(&measure));
    let count = |measure, names: &[&str]| if asks(measure) && asks(Measure::Heal) { names.len() } else { 0 };
    3.0 + (count(Measure::Probes, &probes::NAMES) + count(Measure::FurtherProbes, &probes::FURTHER)) as f64
}
