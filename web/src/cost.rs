//! What a measure will cost here, from what the fit has cost: an order of magnitude, told before it starts.

use straightedge::job::{Measure, Training};
use straightedge::report::Report;

/// Rows of one training step.
const BATCH: f64 = 256.0;

/// Seconds that adding a measure to a report takes here; `None` where the report does not say what the fit took.
pub fn seconds(measure: Measure, report: &Report, blocks: usize) -> Option<f64> {
    let spent = &report.seconds;
    let forward = spent.forward + spent.gram;
    if forward <= 0.0 || report.blocks.is_empty() {
        return None;
    }
    let again = spent.load + spent.tokenize + forward + spent.solve;
    let layers = report.model.num_hidden_layers.max(1) as f64;
    let share = blocks as f64 / layers;
    // From each swapped block on, half the model on average, over the windows of the evaluation.
    let heldout = forward / report.protocol.folds.max(1) as f64;
    let swaps = |count: f64| share * layers * count * heldout / 2.0;
    // One step of training over BATCH rows of one block, with its gradient, against the forward pass of a row.
    let steps =
        |steps: usize, work: f64| share * steps as f64 * BATCH * work * forward / report.protocol.rows.max(1) as f64;
    let training = Training::default();
    let ranks = (report.model.hidden_size.max(2) as f64).log2().ceil() + 1.0;
    Some(
        again
            + match measure {
                Measure::Fit => 0.0,
                Measure::Swap => swaps(3.0),
                Measure::RankSwap => swaps(ranks),
                Measure::Layers => 1.5 * forward + swaps(2.0),
                Measure::Probes => steps(training.probe_steps, 1.2) + swaps(3.0),
                Measure::Baseline => steps(2 * training.baseline_steps, 0.25),
                Measure::Conjunction => 0.5 * forward,
                Measure::Controls => 4.0 * forward,
                Measure::Heal => steps(2 * training.heal_steps, 3.0 * layers / 2.0),
            },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn long_measures_cost_more_and_unknown_costs_are_not_told() {
        let mut report = sample_report();
        assert_eq!(seconds(Measure::Swap, &report, 3), None);
        report.seconds.forward = 10.0;
        let cost = |measure| seconds(measure, &report, 3).unwrap();
        assert_eq!(cost(Measure::Fit), 10.0);
        assert!(cost(Measure::Swap) > 10.0 && cost(Measure::Probes) > 10.0 * cost(Measure::Swap));
        assert!(seconds(Measure::Heal, &report, 1).unwrap() < cost(Measure::Heal));
    }
}
