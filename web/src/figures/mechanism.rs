//! The drawing of one block, with a value of one of its held-out rows passing through.

use straightedge_api::report::{BlockReport, Report};

use crate::chart::mechanism::{Parts, Passing};
use crate::text::detail::t as d;
use crate::text::fill;
use crate::text::format::fixed;

/// The fractional part of the golden ratio chooses the feature of each sampled row; see `docs/measures.md`, section 2.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Families that add first and normalise the sum, so that x is the stream itself.
const POST_NORM: [&str; 3] = ["bert", "distilbert", "roberta"];

/// A block with one of its sampled rows, counted from 0; `None` for captured rows, whose model is unknown.
pub fn mechanism(report: &Report, block: &BlockReport, row: usize) -> Option<Parts> {
    let model = &report.model;
    let units = model.intermediate_size.filter(|_| model.architecture != "rows")?;
    let numbers = |size: usize| fill(d().mechanism_size, &[("size", &size.to_string())]);
    Some(Parts {
        row: match rows(block) {
            0 => d().mechanism_token.into(),
            _ => fill(d().mechanism_row, &[("row", &(row + 1).to_string())]),
        },
        inputs: numbers(model.hidden_size),
        units: fill(d().mechanism_units, &[("units", &units.to_string())]),
        has_norm: !POST_NORM.contains(&model.architecture.as_str()),
        passing: passing(block, row),
    })
}

/// Number of rows with a sampled value.
pub fn rows(block: &BlockReport) -> usize {
    block.scatter.as_ref().map_or(0, |scatter| scatter.actual.len().min(scatter.predicted.len()))
}

fn passing(block: &BlockReport, row: usize) -> Option<Passing> {
    let scatter = block.scatter.as_ref()?;
    let (actual, predicted) = (*scatter.actual.get(row)?, *scatter.predicted.get(row)?);
    let largest = scatter.actual.iter().chain(&scatter.predicted).fold(1.0_f64, |most, value| most.max(value.abs()));
    Some(Passing { actual, predicted, reach: largest.ceil() })
}

/// The sentence about the row that passes.
pub fn sentence(block: &BlockReport, row: usize) -> Option<String> {
    let Passing { actual, predicted, .. } = passing(block, row)?;
    let residual = actual - predicted;
    let feature = feature(block, row).map_or_else(
        || d().mechanism_some_feature.into(),
        |feature| fill(d().mechanism_feature, &[("feature", &feature.to_string())]),
    );
    let two = |value: f64| fixed(Some(value), 2);
    let gaps = [
        ("row", &*(row + 1).to_string()),
        ("rows", &rows(block).to_string()),
        ("feature", &feature),
        ("actual", &two(actual)),
        ("predicted", &two(predicted)),
        ("residual", &two(residual)),
        ("block", &block.block.to_string()),
    ];
    Some(fill(d().mechanism_values, &gaps))
}

/// The feature sampled at a row; unknown if constant features were left out, since rows then have other numbers.
fn feature(block: &BlockReport, row: usize) -> Option<usize> {
    let all_vary = !block.r2_features.is_empty() && block.r2_features.iter().all(Option::is_some);
    all_vary.then(|| ((GOLDEN * row as f64).fract() * block.r2_features.len() as f64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straightedge_api::report::Scatter;

    fn recorded() -> Report {
        Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json")).unwrap()
    }

    #[test]
    fn a_recorded_row_passes_with_its_values() {
        let report = recorded();
        let block = &report.blocks[0];
        let scatter = block.scatter.as_ref().unwrap();
        let parts = mechanism(&report, block, 1).unwrap();
        let passing = parts.passing.unwrap();
        assert_eq!((passing.actual, passing.predicted), (scatter.actual[1], scatter.predicted[1]));
        assert_eq!(
            (parts.row.as_str(), parts.inputs.as_str(), parts.units.as_str()),
            ("row 2", "128 numbers", "the network: 512 units")
        );
        // ⌊0.618… · 128⌋ = 79.
        let sentence = sentence(block, 1).unwrap();
        assert!(sentence.contains("Row 2 of 192") && sentence.contains("feature 79"), "{sentence}");
        assert!(sentence.contains(&fixed(Some(scatter.actual[1] - scatter.predicted[1]), 2)), "{sentence}");
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut report = recorded();
        let mut block = report.blocks[0].clone();
        assert_eq!((mechanism(&report, &block, 9999).unwrap().passing, sentence(&block, 9999)), (None, None));
        block.r2_features[3] = None;
        assert!(!sentence(&block, 1).unwrap().contains("feature 79"));
        block.scatter = Some(Scatter { actual: vec![1.0, 2.0], predicted: vec![1.0] });
        assert_eq!((rows(&block), sentence(&block, 1)), (1, None));
        block.scatter = None;
        assert_eq!(mechanism(&report, &block, 0).unwrap().row, d().mechanism_token);
        report.model.architecture = "rows".into();
        assert_eq!(mechanism(&report, &block, 0), None);
    }

    #[test]
    fn encoders_that_normalise_after_the_sum_have_no_norm_before_the_network() {
        let mut report = recorded();
        let mut has_norm = |architecture: &str| {
            report.model.architecture = architecture.into();
            mechanism(&report, &report.blocks[0], 0).unwrap().has_norm
        };
        assert_eq!(["bert", "roberta", "distilbert"].map(&mut has_norm), [false; 3]);
        assert_eq!(["modernbert", "gpt2", "llama"].map(has_norm), [true; 3]);
    }
}
