//! Hostile links and reports: whatever a stranger writes is refused in a sentence or shown, and nothing panics.
//!
//! Mutations are drawn from a seed: bytes and characters replaced, removed, repeated; numbers of a report replaced by
//! extreme ones. What is accepted goes through everything that the page derives from a report.

use serde_json::{Value, json};
use straightedge_api::job::{Job, Measure};
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;
use straightedge_random::Random;
use straightedge_web::citation::bibtex;
use straightedge_web::comparison::overlay::{KeptMeasurement, Metric, agreement};
use straightedge_web::export::Sheet;
use straightedge_web::figures::differences::differences;
use straightedge_web::figures::{figures, table};
use straightedge_web::state::form::Form;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::{View, is_complete, refusal};
use straightedge_web::state::{cost, headline, warnings, words};
use straightedge_web::url::finding;
use straightedge_web::url::repeat::{measures_of, order_again};

const RECORDED: &str = include_str!("../data/recorded/demo-gpt2.json");
/// Mutations of each kind.
const LINKS: usize = 60_000;
const REPORTS: usize = 40_000;
/// Every how many accepted ones all charts are drawn.
const DRAWN: usize = 20;
/// Longest sentence of a refusal.
const SENTENCE: usize = 1000;

/// A report of two blocks with something of every kind, short enough to be parsed often.
fn base() -> Report {
    let mut report = Report::from_json("demo-gpt2.json", RECORDED).unwrap();
    report.blocks.truncate(2);
    report.layers.truncate(2);
    for block in &mut report.blocks {
        block.r2_features.truncate(3);
        block.r2_rank.truncate(3);
        if let Some(spectrum) = &mut block.spectrum {
            spectrum.k.truncate(3);
            spectrum.covariance.truncate(3);
            spectrum.correlation.truncate(3);
        }
        if let Some(scatter) = &mut block.scatter {
            scatter.actual.truncate(3);
            scatter.predicted.truncate(3);
        }
        block.curves.values_mut().for_each(|curve| curve.truncate(2));
    }
    report
}

/// Everything that the page derives from a report; its charts too if `is_drawn`.
fn derive(report: Report, then: &Report, is_drawn: bool) {
    let run = Run::received(1, report.clone(), Provenance::Link);
    let mut found = vec![words::status(&run), headline::title("m", Some(&report)), words::report_name(&report)];
    found.extend(words::about(&run));
    found.extend(headline::finding(&report));
    found.extend(run.blocks().iter().flat_map(table::cells));
    found.push(bibtex(&report, "https://s/", "https://s/#", "2026-11-25T00:00:00Z"));
    found.extend(warnings::told(run.warnings()));
    for metric in Metric::ALL {
        found.push(table::sentence(&run, 1, metric));
        found.extend(agreement(&metric.by_block(&report), &metric.by_block(then)));
    }
    for measure in Measure::ALL {
        let _ = (is_complete(measure, &report), refusal(measure, &report), cost::seconds(measure, &report, Some(0)));
    }
    let _ = (Summary::new(&report), KeptMeasurement::name_of(&report), measures_of(&report));
    let _ = Form::default().repeat(&report, &[]);
    order_again(&mut Job::new("m", "t"), &report);
    found.extend(differences(then, &report).sentences);
    // What was read can be written again, or is refused.
    let _ = finding::written(&report);
    if is_drawn {
        let mut drawn: Vec<String> = Vec::new();
        drawn.extend(
            View::ALL
                .iter()
                .flat_map(|view| figures(*view, &report, Some(1)))
                .map(|figure| Sheet::of_figure(&figure, Some(&report)).svg),
        );
        for metric in Metric::ALL {
            drawn.push(Sheet::of_profile(&run.profile(metric), metric, Some(&report), None).svg);
        }
        // Sentences are text on the page; drawings are markup.
        assert!(drawn.iter().all(|svg| !svg.contains("<script")), "{drawn:?}");
        found.extend(drawn);
    }
    assert!(found.iter().all(|text| !text.contains("NaN")), "{found:?}");
}

/// A few bytes replaced, removed or repeated.
fn mutated(random: &mut Random, text: &str, alphabet: &[u8]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(6) {
            _ if bytes.is_empty() => {}
            0 => drop(bytes.remove(at)),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, alphabet[random.below(alphabet.len())]),
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes[at] = alphabet[random.below(alphabet.len())],
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Replaces one place of a report by something extreme.
fn distort(random: &mut Random, value: &mut Value) {
    let extremes = [
        json!(null),
        json!(0),
        json!(-1),
        json!(4_294_967_295_u64),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(true),
        json!("<script>alert(1)</script>\u{202e}\u{0}"),
        json!("9".repeat(2000)),
        json!([]),
        json!({}),
    ];
    let inner = match value {
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            Some(&mut items[at])
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            fields.values_mut().nth(at)
        }
        _ => None,
    };
    match inner {
        Some(inner) if random.below(8) > 0 => distort(random, inner),
        _ => *value = extremes[random.below(extremes.len())].clone(),
    }
}

#[test]
fn a_hundred_thousand_mutated_links_and_reports_are_shown_or_refused_in_a_sentence() {
    let base = base();
    let mut random = Random::new(24);
    let [mut shown, mut refused] = [0, 0];
    let mut count = |found: straightedge_api::error::Result<Report>| match found {
        Ok(report) => {
            shown += 1;
            derive(report, &base, shown % DRAWN == 0);
        }
        Err(error) => {
            refused += 1;
            let sentence = error.to_string();
            assert!(sentence.len() <= SENTENCE && !sentence.contains('\n'), "{sentence}");
        }
    };
    let fragment = finding::written(&base).unwrap();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=#%";
    for _ in 0..LINKS {
        count(finding::read(&mutated(&mut random, &fragment, alphabet)));
    }
    let (json, tree) = (serde_json::to_string(&base).unwrap(), serde_json::to_value(&base).unwrap());
    for turn in 0..REPORTS {
        let text = if turn % 2 == 0 {
            mutated(&mut random, &json, b"0123456789eE+-.,:[]{}\"\\ntf\x00\xff")
        } else {
            let mut tree = tree.clone();
            (0..=random.below(3)).for_each(|_| distort(&mut random, &mut tree));
            tree.to_string()
        };
        count(Report::from_json("report.json", &text));
    }
    assert!(shown > 10_000 && refused > 10_000, "{shown} shown, {refused} refused");
}
