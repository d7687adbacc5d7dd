//! Cost of adding a measure to a report here: the measure itself, and another run of the fit it builds on.

use straightedge_api::cost;
use straightedge_api::job::{Measure, Training};
use straightedge_api::report::Report;

/// Seconds to add a measure, for one block or all; `None` if the report does not give the duration of the fit.
pub fn seconds(measure: Measure, report: &Report, block: Option<usize>) -> Option<f64> {
    let mut asked = report.clone();
    asked.blocks.retain(|known| block.is_none_or(|block| known.block == block));
    let spent = &report.seconds;
    let again = spent.load + spent.tokenize + spent.forward + spent.solve;
    Some(again + cost::estimate(&asked, measure, &Training::default())?.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn the_fit_counts_once_more_and_one_block_costs_less_than_all() {
        let mut report = sample_report();
        assert_eq!(seconds(Measure::Swap, &report, None), None, "unknown costs are not told");
        report.seconds.forward = 10.0;
        report.seconds.load = 2.0;
        let cost = |measure, block| seconds(measure, &report, block).unwrap();
        assert!(cost(Measure::Swap, None) > 12.0);
        assert!(cost(Measure::Baseline, Some(0)) < cost(Measure::Baseline, None));
    }
}
