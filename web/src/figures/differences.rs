//! A measurement compared with an earlier one of the same model: block by block, every number that both have.

use straightedge_api::difference::{Compared, Condition, conditions};
use straightedge_api::report::Report;

use crate::figures::Grid;
use crate::text::cell::Cell;
use crate::text::format::{NOTHING, magnitude, share};
use crate::text::{fill, t};

/// Differences between an earlier report and a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// What was compared, and the outcome, in sentences.
    pub sentences: Vec<String>,
    /// One row per block that both have.
    pub table: Grid,
    /// The largest difference of any number; `None` where nothing could be compared.
    pub most: Option<f64>,
}

/// Compares what was measured now with an earlier report.
pub fn differences(then: &Report, now: &Report) -> Differences {
    let pairs: Vec<_> = now
        .blocks
        .iter()
        .filter_map(|block| Some((then.blocks.iter().find(|other| other.block == block.block)?, block)))
        .collect();
    let mut most: Option<(f64, String, usize)> = None;
    let mut rows = Vec::new();
    for (then, now) in &pairs {
        let compared = Compared::blocks(then, now);
        let Some(largest) = compared.largest() else { continue };
        let (size, field) = (largest.amount, largest.field.clone());
        let lin = compared.numbers.iter().find(|number| number.path == "r2_lin");
        let gap = lin.filter(|lin| lin.a.is_some() && lin.b.is_some()).map(|lin| signed(lin.amount, lin.a, lin.b));
        let [was, is] = [then, now].map(|block| Cell::number(block.r2_lin, None, share));
        let [gap, amount] = [gap, Some(size)].map(|value| Cell::number(value, None, magnitude));
        let name = if size == 0.0 { NOTHING } else { field.as_str() };
        rows.push(vec![now.block.to_string().into(), was, is, gap, amount, name.into()]);
        if most.as_ref().is_none_or(|(known, ..)| size > *known) {
            most = Some((size, field, now.block));
        }
    }
    let head = [
        t().block,
        t().differences_then,
        t().differences_now,
        t().differences_gap,
        t().differences_most,
        t().differences_field,
    ];
    let conditions = conditions(then, now).into_iter();
    let mut sentences: Vec<String> = conditions.map(|condition| condition_sentence(condition, then, now)).collect();
    sentences.extend(most.as_ref().map(|(size, field, block)| largest_difference(*size, field, *block, pairs.len())));
    Differences {
        sentences,
        table: Grid { head: head.map(String::from).to_vec(), rows },
        most: most.map(|(size, ..)| size),
    }
}

/// A difference with the direction from the earlier number to the later one.
fn signed(amount: f64, then: Option<f64>, now: Option<f64>) -> f64 {
    if now < then { -amount } else { amount }
}

/// A sentence on a difference in conditions.
fn condition_sentence(condition: Condition, then: &Report, now: &Report) -> String {
    let adapter = |report: &Report| report.device.adapter.clone().unwrap_or_else(|| report.device.backend.clone());
    match condition {
        Condition::Weights => t().differences_model.into(),
        Condition::Text => t().differences_text.into(),
        Condition::EvalText => t().differences_eval.into(),
        Condition::Feed => t().differences_feed.into(),
        Condition::Protocol => t().differences_protocol.into(),
        Condition::Device => fill(t().differences_device, &[("then", &adapter(then)), ("now", &adapter(now))]),
    }
}

fn largest_difference(size: f64, field: &str, block: usize, blocks: usize) -> String {
    let (blocks, block) = (blocks.to_string(), block.to_string());
    if size == 0.0 {
        return fill(t().differences_none, &[("blocks", &blocks)]);
    }
    let size = magnitude(Some(size));
    fill(t().differences_some, &[("most", &size), ("field", field), ("block", &block), ("blocks", &blocks)])
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::{Ordered, OtherInput};

    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn the_same_numbers_differ_in_nothing_whatever_they_took() {
        let then = sample_report();
        let mut now = then.clone();
        now.seconds.forward = 9.0;
        now.blocks[0].r2_lin = Some(0.9f64.next_down());
        let found = differences(&then, &now);
        assert_eq!((found.most, found.table.rows.len()), (Some(0.0), 3));
        assert_eq!(found.sentences, ["No number of any of the 3 blocks differs."]);
        assert_eq!(found.table.rows[0][3..], ["0", "0", "–"]);
    }

    #[test]
    fn the_largest_difference_is_named_with_its_block_and_field() {
        let mut then = sample_report();
        then.blocks[1].cosine = Some(0.5);
        let mut now = then.clone();
        now.blocks[1].cosine = Some(0.501);
        now.blocks[0].r2_lin = then.blocks[0].r2_lin.map(|r2| r2 - 2e-6);
        now.device.adapter = Some("other".into());
        now.model.sha256 = Some("b".into());
        let found = differences(
            &Report {
                model: straightedge_api::report::ModelInfo { sha256: Some("a".into()), ..then.model.clone() },
                ..then.clone()
            },
            &now,
        );
        assert!(found.most.is_some_and(|most| most > 9e-4), "{found:?}");
        assert_eq!(found.table.rows[1][5], "cosine");
        assert!(found.table.rows[0][3].shown.starts_with('−'), "{:?}", found.table.rows[0]);
        assert_eq!(found.sentences.len(), 3, "{:?}", found.sentences);
    }

    #[test]
    fn controls_that_were_fed_with_another_model_are_told() {
        let fed = |sha256: Option<&str>| {
            let feed = sha256.map(|sha256| OtherInput { sha256: Some(sha256.into()), ..OtherInput::default() });
            Report { ordered: Some(Ordered { feed, ..Ordered::default() }), ..sample_report() }
        };
        let count = |then, now| differences(&fed(then), &fed(now)).sentences.len();
        assert_eq!((count(Some("a"), Some("a")), count(Some("a"), Some("b")), count(None, Some("b"))), (1, 2, 1));
    }

    #[test]
    fn what_became_undefined_is_a_difference_and_what_was_not_measured_again_is_none() {
        let then = sample_report();
        let mut now = then.clone();
        now.blocks[0].delta_ppl.clear();
        assert_eq!(differences(&then, &now).most, Some(0.0));
        now.blocks[0].r2_lin = None;
        assert_eq!(differences(&then, &now).most, Some(f64::INFINITY));
        now.blocks[0].r2_lin = Some(f64::NAN);
        assert_eq!(differences(&then, &now).most, Some(f64::INFINITY));
    }
}
