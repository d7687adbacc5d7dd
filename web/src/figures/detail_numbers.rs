//! The numbers of one block next to its charts, and what was not measured.

use straightedge_api::fields::Field;
use straightedge_api::job::Measure;
use straightedge_api::report::{BlockReport, Report};

use crate::state::views::{View, has, name, refusal};
use crate::text::cell::{Cell, within};
use crate::text::detail::t as d;
use crate::text::fill;
use crate::text::format::rounded;

/// All known numbers of a block, those of the table first.
pub fn numbers(block: &BlockReport) -> Vec<(Field, Cell)> {
    let is_known = |field: &Field| field.of_block(block).is_some();
    Field::detail().filter(is_known).map(|field| (field, Cell::of_block(field, block))).collect()
}

/// Measures of the block view that this block lacks but could have.
pub fn missing(report: &Report, block: &BlockReport) -> Vec<Measure> {
    let measures = View::Block.measures().iter().copied();
    measures.filter(|measure| !has(*measure, block) && refusal(*measure, report).is_none()).collect()
}

/// A sentence naming the measures to order, for a report that cannot be extended; `None` if nothing is missing.
pub fn missing_sentence(report: &Report, block: &BlockReport, is_recorded: bool) -> Option<String> {
    let names: Vec<_> = missing(report, block).into_iter().map(name).collect();
    let text = if is_recorded { d().missing_recorded } else { d().missing_opened };
    (!names.is_empty()).then(|| fill(text, &[("measures", &listed(&names))]))
}

/// A sentence naming what reports of earlier versions lack.
pub fn missing_detail(block: &BlockReport) -> Option<String> {
    let spectrum = block.spectrum.is_none().then_some(d().missing_spectrum);
    let scatter = block.scatter.is_none().then_some(d().missing_scatter);
    let names: Vec<_> = spectrum.into_iter().chain(scatter).collect();
    (!names.is_empty()).then(|| fill(d().missing_detail, &[("figures", &listed(&names))]))
}

/// The block in a few words, announced when keys move from one block to the next.
pub fn strip_value(report: &Report, number: usize) -> String {
    let block = report.blocks.iter().find(|block| block.block == number);
    let value = block.and_then(|block| within(block.r2_lin, Field::R2Lin.interval(block)));
    let value = value.unwrap_or_else(|| rounded(block.and_then(|block| block.r2_lin)));
    let last = report.model.num_hidden_layers.saturating_sub(1).to_string();
    let text = if block.is_some() { d().strip_value } else { d().strip_missing };
    fill(text, &[("block", &number.to_string()), ("blocks", &last), ("value", &value)])
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).into(),
        [first @ .., last] => format!("{}{}{last}", first.join(", "), d().and),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;
    use crate::text::format::magnitude;

    #[test]
    fn numbers_are_those_that_are_known() {
        let report = sample_report();
        let fields = |block: usize| -> Vec<_> {
            numbers(&report.blocks[block]).into_iter().map(|(number, value)| (number.name(), value.shown)).collect()
        };
        let first = fields(0);
        for known in [("r2_lin", "0.9000"), ("compression", "8.0×"), ("delta_ppl", "0.500000")] {
            assert!(first.contains(&(known.0, known.1.into())), "{known:?} in {first:?}");
        }
        assert!(fields(2).iter().all(|(field, _)| *field == "rank"), "{:?}", fields(2));
    }

    #[test]
    fn every_number_stands_under_its_own_name() {
        let block = BlockReport {
            condition: Some(1234.0),
            scaled_condition: Some(321.0),
            input_participation: Some(11.1),
            output_participation: Some(22.2),
            output_variance_ratio: Some(0.035),
            ..sample_report().blocks[0].clone()
        };
        let more = [
            ("condition", magnitude(Some(1234.0))),
            ("input_participation", "11.1".into()),
            ("output_participation", "22.2".into()),
            ("output_variance_ratio", magnitude(Some(0.035))),
            ("compression", "8.0×".into()),
            ("delta_ppl", "0.500000".into()),
            ("conjunction", "0.1250".into()),
        ];
        let all = numbers(&block);
        let found: Vec<_> = all.iter().map(|(number, value)| (number.name(), value.shown.clone())).collect();
        assert_eq!(found[found.len() - more.len()..], more);
        let names: std::collections::BTreeSet<_> = all.iter().map(|(number, _)| number.label()).collect();
        assert_eq!(names.len(), all.len(), "no two have one name");
    }

    #[test]
    fn the_strip_tells_the_block_and_its_r2() {
        let report = sample_report();
        assert_eq!(strip_value(&report, 0).matches("0.9000").count(), 1, "{}", strip_value(&report, 0));
        assert!(strip_value(&report, 1).contains("−0.2500"), "{}", strip_value(&report, 1));
        assert!(!strip_value(&report, 9).contains("R²"), "{}", strip_value(&report, 9));
    }

    #[test]
    fn what_is_missing_is_told_once_and_what_cannot_be_had_is_not_asked_for() {
        let mut report = sample_report();
        assert_eq!(missing(&report, &report.blocks[1]), [Measure::RankSwap, Measure::Degrees]);
        let text = missing_sentence(&report, &report.blocks[2], true).unwrap();
        assert!(text.contains("swap losses, rank losses, the probes and the polynomials for this block"), "{text}");
        assert_eq!(missing_sentence(&report, &report.blocks[0], false), None);
        assert!(missing_detail(&report.blocks[0]).unwrap().contains("spectra and predictions"));
        report.model.architecture = "bert".into();
        assert_eq!(
            missing(&report, &report.blocks[2]),
            [Measure::Probes, Measure::Degrees],
            "an encoder loses no perplexity"
        );
    }
}
