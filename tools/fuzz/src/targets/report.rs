//! Reports and results in links, with everything that the page derives from them.

use crate::target::Refusal;
use straightedge_api::job::{Job, Measure};
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;
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
use straightedge_web::url::repeat::{copy_settings, measures_of};

const RECORDED: &str = include_str!("../../../../web/data/recorded/demo-gpt2.json");

/// A report of two blocks with something of every kind, short enough to be read often.
fn base() -> Result<Report, Refusal> {
    let mut report = Report::from_json("demo-gpt2.json", RECORDED)?;
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
    Ok(report)
}

pub(super) fn report_seeds() -> Vec<Vec<u8>> {
    // Without spaces it is a third shorter.
    base().and_then(|report| serde_json::to_vec(&report).map_err(|_| unwritten())).into_iter().collect()
}

pub(super) fn fragment_seeds() -> Vec<Vec<u8>> {
    let written = base().and_then(|report| Ok(finding::written(&report)?));
    written.map(String::into_bytes).into_iter().collect()
}

fn unwritten() -> Refusal {
    Refusal { kind: "unwritten".into(), sentence: "it cannot be written".into() }
}

/// Reads a report and shows it.
pub(super) fn report(input: &[u8]) -> Result<(), Refusal> {
    let report = Report::from_json("report.json", &String::from_utf8_lossy(input))?;
    derive(report, input.len().is_multiple_of(20));
    Ok(())
}

/// Reads a result in a link and shows it.
pub(super) fn fragment(input: &[u8]) -> Result<(), Refusal> {
    let report = finding::read(&String::from_utf8_lossy(input))?;
    let again = finding::written(&report).and_then(|written| finding::read(&written));
    assert!(again.is_err() || again.is_ok_and(|again| again.blocks == report.blocks), "read again");
    derive(report, input.len().is_multiple_of(20));
    Ok(())
}

/// Everything that the page derives from a report; its charts too if `is_drawn`.
fn derive(report: Report, is_drawn: bool) {
    let then = compared_with();
    let run = Run::received(1, report.clone(), Provenance::Link);
    let mut found = vec![words::status(&run), headline::title("m", Some(&report)), words::report_name(&report)];
    found.extend(words::about(&run));
    found.extend(headline::finding(&report));
    found.extend(run.blocks().iter().flat_map(table::cells).flat_map(|cell| [cell.shown].into_iter().chain(cell.full)));
    found.push(bibtex(&report, "https://s/", "https://s/#", "2026-11-25T00:00:00Z"));
    found.extend(warnings::sentences(run.warnings()));
    for metric in Metric::ALL {
        found.push(table::sentence(&run, 1, metric));
        found.extend(agreement(&metric.by_block(&report), &metric.by_block(&then)));
    }
    for measure in Measure::ALL {
        let _ = (is_complete(measure, &report), refusal(measure, &report), cost::seconds(measure, &report, Some(0)));
    }
    let _ = (Summary::new(&report), KeptMeasurement::name_of(&report), measures_of(&report));
    let _ = Form::default().repeat(&report, &[]);
    copy_settings(&mut Job::new("m", "t"), &report);
    found.extend(differences(&then, &report).sentences);
    // What was read can be written again, or is refused.
    let _ = finding::written(&report);
    if is_drawn {
        let mut drawn: Vec<String> = Vec::new();
        for view in View::ALL {
            drawn.extend(
                figures(view, &report, Some(1)).iter().map(|figure| Sheet::of_figure(figure, Some(&report)).svg),
            );
        }
        for metric in Metric::ALL {
            drawn.push(Sheet::of_profile(&run.profile(metric), metric, Some(&report), None).svg);
        }
        // Sentences are text on the page; drawings are markup.
        assert!(drawn.iter().all(|svg| !svg.contains("<script")), "markup from a report");
        found.extend(drawn);
    }
    assert!(found.iter().all(|text| !text.contains("NaN")), "{:?}", found.iter().find(|text| text.contains("NaN")));
}

/// The report that others are compared with.
fn compared_with() -> Report {
    thread_local! {
        static BASE: Report = base().unwrap_or_else(|refusal| panic!("{}", refusal.sentence));
    }
    BASE.with(Report::clone)
}
