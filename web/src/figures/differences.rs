//! A measurement compared with an earlier one of the same model: every number that both have.

use straightedge_api::difference::{Compared, Condition, Difference, Place, compare, conditions};
use straightedge_api::report::Report;

use crate::figures::Grid;
use crate::figures::figure::block_name;
use crate::text::cell::Cell;
use crate::text::differences::t as words;
use crate::text::format::{NOTHING, magnitude, share};
use crate::text::{fill, t};

/// Differences between an earlier report and a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// What was compared, and the outcome, in sentences.
    pub sentences: Vec<String>,
    /// One row per block or layer that both have, and one for the model.
    pub table: Grid,
    /// The largest difference of any number; `None` where nothing could be compared.
    pub most: Option<f64>,
}

/// Compares what was measured now with an earlier report: every number that both have of blocks, layers and the model.
pub fn differences(then: &Report, now: &Report) -> Differences {
    let places = compare(then, now).into_iter().filter_map(|(place, found)| Some((place, found.ok()?)));
    let mut most: Option<(Difference, Place)> = None;
    let (mut rows, mut count) = (Vec::new(), 0);
    for (place, found) in places {
        let Some(largest) = found.largest() else { continue };
        count += found.numbers.len();
        rows.push(row(place, &found, largest));
        if most.as_ref().is_none_or(|(known, _)| largest.amount > known.amount) {
            most = Some((largest.clone(), place));
        }
    }
    let head = [words().place, words().then, words().now, words().gap, words().most, words().field];
    let conditions = conditions(then, now).into_iter();
    let mut sentences: Vec<String> = conditions.map(|condition| condition_sentence(condition, then, now)).collect();
    sentences.extend(most.as_ref().map(|(largest, place)| largest_difference(largest, *place, count)));
    Differences {
        sentences,
        table: Grid { head: head.map(String::from).to_vec(), rows },
        most: most.map(|(largest, _)| largest.amount),
    }
}

/// A place with its R² before and now, if it is a block, and its largest difference.
fn row(place: Place, found: &Compared, largest: &Difference) -> Vec<Cell> {
    let lin = found.numbers.iter().find(|number| number.path == "r2_lin");
    let gap = lin.filter(|lin| lin.a.is_some() && lin.b.is_some()).map(|lin| signed(lin.amount, lin.a, lin.b));
    let [then, now] = [lin.and_then(|lin| lin.a), lin.and_then(|lin| lin.b)].map(|r2| Cell::number(r2, None, share));
    let [gap, amount] = [gap, Some(largest.amount)].map(|value| Cell::number(value, None, magnitude));
    let field = if largest.amount == 0.0 { NOTHING } else { largest.field.as_str() };
    vec![place_name(place).into(), then, now, gap, amount, field.into()]
}

fn place_name(place: Place) -> String {
    match place {
        Place::Model => words().whole.into(),
        Place::Block(block) => block_name(block),
        Place::Layer(layer) => fill(t().layer_n, &[("layer", &layer.to_string())]),
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
        Condition::Weights => words().weights.into(),
        Condition::Text => words().text.into(),
        Condition::EvalText => words().eval.into(),
        Condition::Feed => words().feed.into(),
        Condition::Protocol => words().protocol.into(),
        Condition::Device => fill(words().device, &[("then", &adapter(then)), ("now", &adapter(now))]),
    }
}

fn largest_difference(largest: &Difference, place: Place, count: usize) -> String {
    let count = count.to_string();
    if largest.amount == 0.0 {
        return fill(words().none, &[("count", &count)]);
    }
    let (size, place) = (magnitude(Some(largest.amount)), place_name(place));
    let gaps = [("most", &size), ("field", &largest.field), ("place", &place), ("count", &count)];
    fill(words().some, &gaps.map(|(name, value)| (name, value.as_str())))
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
        let places: Vec<&str> = found.table.rows.iter().map(|row| row[0].shown.as_str()).collect();
        assert_eq!(places, ["Model", "Block 0", "Block 1", "Block 2", "Layer 0", "Layer 1"]);
        assert_eq!(found.most, Some(0.0));
        assert!(found.sentences.len() == 1 && found.sentences[0].ends_with(" numbers differs."), "{found:?}");
        assert_eq!(found.table.rows[1][3..], ["0", "0", "–"]);
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
        assert_eq!(found.table.rows[2][5], "cosine");
        assert!(found.table.rows[1][3].shown.starts_with('−'), "{:?}", found.table.rows[1]);
        assert_eq!(found.sentences.len(), 3, "{:?}", found.sentences);
    }

    #[test]
    fn differences_of_layers_and_of_the_model_are_found_too() {
        let then = sample_report();
        let mut now = then.clone();
        now.layers[1].linearity = then.layers[1].linearity.map(|linearity| linearity - 0.25);
        let found = differences(&then, &now);
        assert!(found.sentences[0].contains("in linearity of Layer 1"), "{:?}", found.sentences);
        assert!(found.most.is_some_and(|most| (most - 0.25).abs() < 1e-12));
        let (then, now) = (Report { ppl: Some(20.0), ..then }, Report { ppl: Some(30.0), ..now });
        let found = differences(&then, &now);
        assert!(found.sentences[0].contains("in ppl of Model"), "{:?}", found.sentences);
        assert!(found.most.is_some_and(|most| (most - 0.5).abs() < 1e-12));
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
