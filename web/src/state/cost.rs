//! Estimated durations: of adding a measure to a report, including the repeated fit, and of a measurement of many rows
//! before it is ordered.

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
    let mut asked = report.clone();
    asked.blocks.retain(|known| block.is_none_or(|block| known.block == block));
    let spent = &report.seconds;
    let again = spent.load + spent.tokenize + spent.forward + spent.solve;
    Some(again + cost::estimate(&asked, measure, &Training::default())?.seconds)
}

/// The estimated duration of a fit of many rows, from a report of the same model and whether it was measured here, else
/// the multiple of the default rows; `None` if `rows` are not many.
pub fn of_many(rows: usize, known: Option<(&Report, bool)>) -> Option<String> {
    let usual = Protocol::default().rows;
    if rows < MANY * usual {
        return None;
    }
    let time = known.and_then(|(report, is_here)| Some((duration(fit(report, rows)?), is_here)));
    Some(match time {
        Some((time, true)) => fill(t().cost_here, &[("time", &time)]),
        Some((time, false)) => fill(t().cost_recorded, &[("time", &time)]),
        None => fill(t().cost_many, &[("times", &count((rows / usual) as u64)), ("usual", &count(usual as u64))]),
    })
}

/// Seconds of a fit of `rows` rows; `None` if the report lacks the duration of its own.
fn fit(report: &Report, rows: usize) -> Option<f64> {
    let spent = &report.seconds;
    let by_row = (spent.tokenize + spent.forward) / report.protocol.rows.max(1) as f64;
    (by_row > 0.0).then_some(spent.load + spent.solve + by_row * rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn many_rows_are_told_with_the_time_that_they_take() {
        let mut report = sample_report();
        report.protocol.rows = 1000;
        assert_eq!(of_many(149_999, Some((&report, true))), None);
        assert!(of_many(99_999_999, Some((&report, true))).unwrap().contains("6666 times the usual 15\u{202f}000"));
        report.seconds.forward = 2.0;
        report.seconds.load = 1.0;
        assert!(of_many(1_800_000, Some((&report, true))).unwrap().contains("1 h 00 min"));
        assert!(of_many(1_800_000, Some((&report, false))).unwrap().contains("machine of the recording"));
        assert!(of_many(1_800_000, None).unwrap().contains("120 times"));
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
