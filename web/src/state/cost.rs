//! Estimated durations: of adding a measure to a report, including the repeated fit, and of a whole measurement
//! before it is ordered.

use std::collections::BTreeSet;

use straightedge_api::cost;
use straightedge_api::job::{Measure, Protocol, Training};
use straightedge_api::report::Report;

use crate::text::fill;
use crate::text::format::{count, duration};
use crate::text::result::t;

/// Rows count as many from this multiple of the default on.
const MANY: usize = 10;

/// Seconds to add a measure, for one block or all; `None` if the report lacks the duration of its fit.
pub fn seconds(measure: Measure, report: &Report, block: Option<usize>) -> Option<f64> {
    let spent = &report.seconds;
    let repeated = spent.load + spent.tokenize + spent.of_rows() + spent.solve;
    let training = Training::default();
    let more = match block {
        Some(block) => cost::estimate_of_block(report, block, measure, &training),
        None => cost::estimate(report, measure, &training),
    };
    Some(repeated + more?.seconds)
}

/// The estimated duration of a measurement. `known` is a report of the same model, and whether it was measured here.
/// Without one, the sentence compares the number of rows with the default if it is much larger.
pub fn of_order(rows: usize, measures: &BTreeSet<Measure>, known: Option<(&Report, bool)>) -> Option<String> {
    let usual = Protocol::default().rows;
    match known.and_then(|(report, is_here)| Some((duration(all(report, rows, measures)?), is_here))) {
        Some((time, true)) => Some(fill(t().cost_here, &[("time", &time)])),
        Some((time, false)) => Some(fill(t().cost_recorded, &[("time", &time)])),
        None if rows < MANY * usual => None,
        None => Some(fill(t().cost_many, &[("times", &count((rows / usual) as u64)), ("usual", &count(usual as u64))])),
    }
}

/// Seconds of a fit of `rows` rows and of further measures, which also grow with the rows.
fn all(report: &Report, rows: usize, measures: &BTreeSet<Measure>) -> Option<f64> {
    let times = rows as f64 / report.protocol.rows.max(1) as f64;
    let more = measures.iter().filter(|measure| **measure != Measure::Fit);
    let more = more.filter_map(|measure| cost::estimate(report, *measure, &Training::default()));
    Some(fit(report, rows)? + times * more.map(|estimate| estimate.seconds).sum::<f64>())
}

/// Seconds of a fit of `rows` rows; `None` if the report lacks the duration of its own.
fn fit(report: &Report, rows: usize) -> Option<f64> {
    let spent = &report.seconds;
    let by_row = (spent.tokenize + spent.of_rows()) / report.protocol.rows.max(1) as f64;
    (by_row > 0.0).then_some(spent.load + spent.solve + by_row * rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn a_measurement_is_estimated_from_one_of_the_same_model_and_many_rows_also_without() {
        let mut report = sample_report();
        report.protocol.rows = 1000;
        let none = BTreeSet::new();
        fn of(rows: usize, known: Option<(&Report, bool)>) -> Option<String> {
            of_order(rows, &BTreeSet::new(), known)
        }
        assert_eq!(of(149_999, None), None);
        assert!(of(99_999_999, Some((&report, true))).unwrap().contains("6666 times the usual 15\u{202f}000"));
        report.seconds.forward = 2.0;
        report.seconds.load = 1.0;
        assert!(of(1_800_000, Some((&report, true))).unwrap().contains("1 h 00 min"));
        assert!(of(1_800_000, Some((&report, false))).unwrap().contains("machine of the recording"));
        assert!(of(1_800_000, None).unwrap().contains("120 times"));
        assert!(of(1000, Some((&report, true))).unwrap().contains("3.0 s"), "few rows are estimated as well");
        let seconds = |measures| all(&report, 1000, measures).unwrap();
        assert!(seconds(&BTreeSet::from([Measure::Swap])) > seconds(&none), "further measures add their time");
    }

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
