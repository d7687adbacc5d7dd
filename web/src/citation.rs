//! A citation of a result in BibTeX: the tool, the two papers that define the measures, and the result with its link.

use straightedge_api::date::day;
use straightedge_api::report::Report;

use crate::state::headline::finding;
use crate::state::words::computed_on;
use crate::text::fill;
use crate::text::format::count;
use crate::text::result::t;

/// The papers.
const PAPERS: &str = "@misc{arxiv2606.19379,
  title = {arXiv 2606.19379, on the linear recoverability of feed-forward networks},
  year = {2026},
  eprint = {2606.19379},
  archivePrefix = {arXiv},
  url = {https://arxiv.org/abs/2606.19379}
}

@misc{arxiv2405.12250,
  title = {Your Transformer is Secretly Linear},
  year = {2024},
  eprint = {2405.12250},
  archivePrefix = {arXiv},
  url = {https://arxiv.org/abs/2405.12250}
}
";

/// The entries; `site` is the address of the page, `link` that of the result, `today` a [`straightedge_api::date`].
pub fn bibtex(report: &Report, site: &str, link: &str, today: &str) -> String {
    let version = match &report.app.commit {
        Some(commit) => format!("{} ({commit})", report.app.version),
        None => report.app.version.clone(),
    };
    let accessed = day(today).unwrap_or_default();
    let tool = [("title", "Straightedge"), ("version", &version), ("url", site), ("urldate", accessed)];
    let names = [("model", report.model.id.as_str()), ("text", report.corpus.id.as_str())];
    let title = fill(t().cite_result, &names);
    let measured = report.date.as_deref().and_then(day).unwrap_or_default();
    let (rows, folds) =
        (count(report.protocol.rows as u64).replace('\u{202f}', " "), report.protocol.folds.to_string());
    let finding = finding(report).unwrap_or_default();
    let gaps =
        [("finding", finding.as_str()), ("rows", &rows), ("folds", &folds), ("device", computed_on(&report.device))];
    let note = fill(t().cite_note, &gaps);
    let result = [("title", title.as_str()), ("date", measured), ("url", link), ("urldate", accessed), ("note", &note)];
    format!("{}\n{PAPERS}\n{}", entry("software", "straightedge", &tool), entry("misc", "straightedge-result", &result))
}

fn entry(kind: &str, key: &str, fields: &[(&str, &str)]) -> String {
    let known = fields.iter().filter(|(_, value)| !value.is_empty());
    let lines: Vec<String> = known.map(|(name, value)| format!("  {name} = {{{}}}", escaped(name, value))).collect();
    format!("@{kind}{{{key},\n{}\n}}\n", lines.join(",\n"))
}

/// A value with the characters escaped that mean something to BibTeX or LaTeX; an address stays as it is, but for
/// braces.
fn escaped(name: &str, value: &str) -> String {
    let is_address = name == "url";
    value.chars().fold(String::new(), |mut text, c| {
        match c {
            '{' | '}' if is_address => text.push_str(if c == '{' { "%7B" } else { "%7D" }),
            '{' | '}' | '#' | '$' | '%' | '&' | '_' if !is_address => text.extend(['\\', c]),
            '\\' => text.push_str(r"\textbackslash "),
            '~' if !is_address => text.push_str(r"\textasciitilde "),
            '^' if !is_address => text.push_str(r"\textasciicircum "),
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn a_citation_names_tool_papers_and_result_with_link_and_date() {
        let mut report = sample_report();
        report.date = Some("2026-11-25T02:34:05Z".into());
        let text = bibtex(&report, "https://site.example/", "https://site.example/?v=1#r=1A_B", "2026-12-01T00:00:00Z");
        for part in
            ["@software{straightedge,", "2606.19379", "2405.12250", "  date = {2026-11-25},", "urldate = {2026-12-01}"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.contains("url = {https://site.example/?v=1#r=1A_B}"), "{text}");
        assert!(text.contains("1 of 2 blocks more than half linear"), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn a_hostile_name_cannot_end_its_field() {
        let mut report = sample_report();
        report.model.id = "a}, url = {http://x\\_%".into();
        let text = bibtex(&report, "https://site.example/", "https://x/{}", "now");
        assert!(
            text.contains(r"a\}, url = \{http://x\textbackslash \_\%") && text.contains("https://x/%7B%7D"),
            "{text}"
        );
    }
}
