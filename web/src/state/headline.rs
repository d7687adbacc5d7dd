//! The finding of a result in a few words, for titles and lists.

use straightedge_api::report::Report;

use crate::text::fill;
use crate::text::result::{finding_of, t};

/// How many blocks are more than half linear; `None` before the first defined one.
pub fn finding(report: &Report) -> Option<String> {
    finding_of(&report.blocks.iter().filter_map(|block| block.r2_lin).collect::<Vec<_>>())
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
