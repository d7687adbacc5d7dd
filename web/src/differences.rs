//! A measurement beside an earlier one of the same thing: block by block, every number that both have.

use straightedge::report::{BlockReport, Report, Scatter, Spectrum};

use crate::figures::Grid;
use crate::format::{NOTHING, magnitude, share};
use crate::texts::{fill, t};

/// What an earlier report and a measurement differ in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// What was compared and what came of it, in sentences.
    pub sentences: Vec<String>,
    /// One row per block that both have.
    pub table: Grid,
    /// The largest difference of any number; `None` where nothing could be compared.
    pub most: Option<f64>,
}

/// A number of a block, or several of a kind.
type Values = fn(&BlockReport) -> Vec<Option<f64>>;

/// Significant digits that two numbers can agree in: the last one is turned by reading a report.
const DIGITS: usize = 15;

/// Every number of a block that does not depend on how fast the device is, by the report's name for it, with the digits
/// that it is kept with.
const FIELDS: [(&str, usize, Values); 20] = [
    ("r2_lin", DIGITS, |b| vec![b.r2_lin]),
    ("r2_lin_scalar", DIGITS, |b| vec![b.r2_lin_scalar]),
    ("r2_feature_median", DIGITS, |b| vec![b.r2_feature_median]),
    ("r2_features", DIGITS, |b| b.r2_features.clone()),
    ("r2_folds", DIGITS, |b| b.r2_folds.clone()),
    ("r2_rank", DIGITS, |b| b.r2_rank.clone()),
    ("rank", DIGITS, |b| vec![Some(b.rank as f64)]),
    ("effective_rank", DIGITS, |b| vec![b.effective_rank.map(|rank| rank as f64)]),
    ("scaled_condition", DIGITS, |b| vec![b.scaled_condition]),
    ("spectrum", Spectrum::DIGITS, |b| {
        b.spectrum.iter().flat_map(|s| [&s.covariance, &s.correlation]).flatten().copied().collect()
    }),
    ("scatter", Scatter::DIGITS, |b| {
        b.scatter.iter().flat_map(|s| [&s.actual, &s.predicted]).flatten().copied().map(Some).collect()
    }),
    ("cosine", DIGITS, |b| vec![b.cosine]),
    ("rmse", DIGITS, |b| vec![b.rmse]),
    ("input_participation", DIGITS, |b| vec![b.input_participation]),
    ("output_participation", DIGITS, |b| vec![b.output_participation]),
    ("delta_ppl", DIGITS, |b| b.delta_ppl.values().copied().collect()),
    ("conjunction", DIGITS, |b| vec![b.conjunction]),
    ("probes", DIGITS, |b| b.probes.values().map(|probe| probe.r2).collect()),
    ("controls", DIGITS, |b| b.controls.values().map(|control| control.r2_lin).collect()),
    ("heal", DIGITS, |b| b.heal.values().map(|heal| heal.delta_ppl).collect()),
];

/// Compares what was measured now with an earlier report.
pub fn differences(then: &Report, now: &Report) -> Differences {
    let pairs: Vec<_> = now
        .blocks
        .iter()
        .filter_map(|block| Some((then.blocks.iter().find(|other| other.block == block.block)?, block)))
        .collect();
    let mut most: Option<(f64, &str, usize)> = None;
    let mut rows = Vec::new();
    for (then, now) in &pairs {
        let (size, field) = largest(then, now);
        if most.is_none_or(|(known, ..)| size > known) {
            most = Some((size, field, now.block));
        }
        let gap = then.r2_lin.zip(now.r2_lin).map(|(then, now)| gap(then, now, DIGITS));
        let gap = if gap == Some(0.0) { "0".into() } else { magnitude(gap) };
        let (size, field) = if size == 0.0 { ("0".into(), NOTHING) } else { (magnitude(Some(size)), field) };
        rows.push(vec![now.block.to_string(), share(then.r2_lin), share(now.r2_lin), gap, size, field.into()]);
    }
    let head = [
        t().block,
        t().differences_then,
        t().differences_now,
        t().differences_gap,
        t().differences_most,
        t().differences_field,
    ];
    let mut sentences = conditions(then, now);
    sentences.extend(most.map(|(size, field, block)| told(size, field, block, pairs.len())));
    Differences {
        sentences,
        table: Grid { head: head.map(String::from).to_vec(), rows },
        most: most.map(|(size, ..)| size),
    }
}

/// The largest difference between two measurements of a block, relative where a value is above 1, and of which number.
/// Numbers that only one of them has were not measured again and are no difference, values that became undefined are an
/// infinite one.
fn largest(then: &BlockReport, now: &BlockReport) -> (f64, &'static str) {
    let mut most = (0.0, FIELDS[0].0);
    for (name, digits, values) in FIELDS {
        let (then, now) = (values(then), values(now));
        if then.len() != now.len() || now.iter().all(Option::is_none) && name != "r2_lin" {
            continue;
        }
        for (then, now) in then.iter().zip(&now) {
            let size = match (then, now) {
                (Some(then), Some(now)) => gap(*then, *now, digits).abs() / then.abs().max(1.0),
                (None, None) => 0.0,
                _ => f64::INFINITY,
            };
            // A difference that is no number is the largest of all.
            if !(size <= most.0) {
                most = (if size.is_nan() { f64::INFINITY } else { size }, name);
            }
        }
    }
    most
}

/// How far a number is from an earlier one; a step of its last digit does not count.
fn gap(then: f64, now: f64, digits: usize) -> f64 {
    let step = 10f64.powf(then.abs().max(f64::MIN_POSITIVE).log10().floor() + 1.0 - digits as f64);
    let gap = now - then;
    if gap.abs() <= 1.5 * step { 0.0 } else { gap }
}

/// What was not the same to begin with.
fn conditions(then: &Report, now: &Report) -> Vec<String> {
    let known = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    let told = |differs: bool, text: &str| differs.then(|| text.to_string());
    let device = (&then.device.backend, &then.device.adapter) != (&now.device.backend, &now.device.adapter);
    let names = [
        ("then", then.device.adapter.as_deref().unwrap_or(&then.device.backend)),
        ("now", now.device.adapter.as_deref().unwrap_or(&now.device.backend)),
    ];
    [
        told(known(&then.model.sha256, &now.model.sha256), t().differences_model),
        told(known(&then.corpus.sha256, &now.corpus.sha256), t().differences_text),
        told(then.protocol != now.protocol, t().differences_protocol),
        device.then(|| fill(t().differences_device, &names)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn told(size: f64, field: &str, block: usize, blocks: usize) -> String {
    let (blocks, block) = (blocks.to_string(), block.to_string());
    if size == 0.0 {
        return fill(t().differences_none, &[("blocks", &blocks)]);
    }
    let size = magnitude(Some(size));
    fill(t().differences_some, &[("most", &size), ("field", field), ("block", &block), ("blocks", &blocks)])
}

#[cfg(test)]
mod tests {
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
        let then = sample_report();
        let mut now = then.clone();
        now.blocks[1].cosine = then.blocks[1].cosine.map(|cosine| cosine + 1e-3).or(Some(0.5));
        now.blocks[0].r2_lin = then.blocks[0].r2_lin.map(|r2| r2 - 2e-6);
        now.device.adapter = Some("other".into());
        now.model.sha256 = Some("b".into());
        let found = differences(
            &Report {
                model: straightedge::report::ModelInfo { sha256: Some("a".into()), ..then.model.clone() },
                ..then.clone()
            },
            &now,
        );
        assert!(found.most.is_some_and(|most| most > 9e-4), "{found:?}");
        assert_eq!(found.table.rows[1][5], "cosine");
        assert!(found.table.rows[0][3].starts_with('−'), "{:?}", found.table.rows[0]);
        assert_eq!(found.sentences.len(), 3, "{:?}", found.sentences);
    }

    /// Another value in every place that holds a number.
    fn nudge(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Number(number) => {
                let whole = number.as_u64().map(|number| serde_json::json!(number + 1));
                *value = whole.unwrap_or_else(|| serde_json::json!(number.as_f64().unwrap() + 1.0));
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(nudge),
            serde_json::Value::Object(values) => values.values_mut().for_each(nudge),
            _ => {}
        }
    }

    #[test]
    fn every_number_is_watched_under_its_own_name() {
        let values = |first: f64| vec![Some(first), Some(first / 2.0)];
        let then = BlockReport {
            r2_features: values(0.5),
            r2_folds: values(0.6),
            rank: 7,
            scaled_condition: Some(30.0),
            cosine: Some(0.5),
            rmse: Some(0.25),
            input_participation: Some(3.0),
            output_participation: Some(4.0),
            spectrum: Some(Spectrum { k: vec![1, 2], covariance: values(2.0), correlation: values(3.0) }),
            scatter: Some(Scatter { actual: vec![0.5], predicted: vec![0.25] }),
            ..sample_report().blocks[0].clone()
        };
        for (field, ..) in FIELDS {
            let mut json = serde_json::to_value(&then).unwrap();
            nudge(&mut json[field]);
            let (size, found) = largest(&then, &serde_json::from_value(json).unwrap());
            assert!(size > 0.01 && found == field, "{field}: {size} of {found}");
        }
    }

    #[test]
    fn a_step_of_the_last_digit_is_no_difference_and_two_are() {
        assert_eq!(gap(0.3959, 0.396, 4), 0.0);
        assert_eq!(gap(-0.9999, -1.0, 4), 0.0);
        assert!(gap(0.3959, 0.3961, 4) > 1e-4);
        assert!(gap(0.3959, 0.396, DIGITS) > 9e-5);
        assert_eq!(gap(0.0, 0.0, DIGITS), 0.0);
        assert!(gap(0.0, 1e-300, DIGITS) > 0.0);
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
