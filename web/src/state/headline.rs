//! The finding of a result in a few words, for titles and lists.

use straightedge_api::report::Report;

use crate::text::fill;
use crate::text::format::fixed;
use crate::text::result::t;

/// R² from which on more than half of a block is linear.
const HALF: f64 = 0.5;

/// How many blocks are more than half linear; `None` before the first defined one.
pub fn finding(report: &Report) -> Option<String> {
    finding_of(&report.blocks.iter().filter_map(|block| block.r2_lin).collect::<Vec<_>>())
}

/// [`finding`] of the defined R² of all blocks.
pub fn finding_of(known: &[f64]) -> Option<String> {
    match known {
        [] => None,
        [only] => Some(fill(t().finding_one, &[("value", &fixed(Some(*only), 2))])),
        many => {
            let linear = many.iter().filter(|value| **value > HALF).count();
            let gaps = [("linear", linear.to_string()), ("blocks", many.len().to_string())];
            Some(fill(t().finding_many, &gaps.each_ref().map(|(name, value)| (*name, value.as_str()))))
        }
    }
}

/// Title of the page: the result's model, under the name that the page gives it, and its finding.
pub fn title(model: &str, report: Option<&Report>) -> String {
    if model.is_empty() {
        return t().title_app.into();
    }
    match report.and_then(finding) {
        Some(finding) => fill(t().title, &[("model", model), ("finding", &finding)]),
        None => fill(t().title_plain, &[("model", model)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn a_title_names_model_and_finding() {
        let mut report = sample_report();
        let expected = "GPT-2 demo: 1 of 2 blocks more than half linear – Straightedge";
        assert_eq!(title("GPT-2 demo", Some(&report)), expected);
        report.blocks.truncate(1);
        assert_eq!(finding(&report).as_deref(), Some("R² of its only block is 0.90"));
        report.blocks.clear();
        assert_eq!(title("GPT-2 demo", Some(&report)), "GPT-2 demo – Straightedge");
        assert_eq!(title("", None), "Straightedge");
    }
}
