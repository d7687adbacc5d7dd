//! `cargo xtask record`: measures every demo model with the engine, and derives files from the reports.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use straightedge_api::bundled::{Bundled, Demo};
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;

use crate::command::{cargo, root, run};
use crate::commit::{commit, name_commit};
use crate::continuations;
use crate::demo;
use crate::document::document;

/// Measures; the rest is the default protocol on the model's own text.
const MEASURES: &str = "fit,swap,layers,degrees";
/// The slowest measures, only for models at the end of their runs.
const FURTHER: &str = ",controls,greedy,prune,probes,conjunction";
/// The slowest of all, only for the first model.
const TOGETHER: &str = ",further-probes,heal-together";
/// Added to the first model's report by a measurement of its own: beside the further probes, these would be healed too,
/// which takes hours.
const HEALED: &str = "probes,heal";

/// Measures the named models, or all, unless `only_tables`; then writes summary and tables of all recorded models.
pub(crate) fn record(names: &[String], only_tables: bool) -> Result<()> {
    let mut index = demo::index()?;
    index.retain(|bundled| bundled.demo.is_some());
    if let Some(unknown) = names.iter().find(|name| !index.iter().any(|bundled| bundled.name == **name)) {
        bail!("{unknown} is no bundled model that was trained");
    }
    fs::create_dir_all(folder()).with_context(|| format!("{} cannot be made", folder().display()))?;
    let is_selected = |bundled: &&Bundled| !only_tables && (names.is_empty() || names.contains(&bundled.name));
    // Read once, because written reports change the sources.
    let commit = commit();
    for bundled in index.iter().filter(is_selected) {
        measure(bundled, commit.as_deref())?;
        if bundled.name == continuations::MODEL {
            continuations::record(commit.as_deref())?;
        }
    }
    let recorded = recorded(&index)?;
    let summaries: Vec<_> = recorded.iter().map(|(_, report)| Summary::new(report)).collect();
    write(folder().join("index.json"), &(serde_json::to_string_pretty(&summaries)? + "\n"))?;
    write(root().join("docs/models.md"), &document(&recorded))
}

fn folder() -> PathBuf {
    root().join("web/data/recorded")
}

fn report_file(name: &str) -> PathBuf {
    folder().join(format!("{name}.json"))
}

fn measure(Bundled { name, demo, .. }: &Bundled, commit: Option<&str>) -> Result<()> {
    let further = if demo.as_ref().is_some_and(Demo::is_complete) { FURTHER } else { "" };
    let is_first = name == continuations::MODEL;
    let together = if is_first { TOGETHER } else { "" };
    let report = report_file(name);
    let engine = |measures: &str| {
        let mut measure = cargo();
        measure.args(["run", "--release", "--package", "straightedge", "--", "measure", name, "--backend", "cpu"]);
        name_commit(&mut measure, commit);
        measure.args(["--measures", measures]);
        measure
    };
    run(engine(&format!("{MEASURES}{further}{together}")).arg("--out").arg(&report))?;
    if is_first {
        let healed = root().join("target/healed.json");
        run(engine(HEALED).arg("--add-to").arg(&report).arg("--out").arg(&healed))?;
        fs::copy(&healed, &report).with_context(|| format!("{} cannot be written", report.display()))?;
    }
    Ok(())
}

/// The models that are recorded, with their reports.
fn recorded(index: &[Bundled]) -> Result<Vec<(&Bundled, Report)>> {
    let mut recorded = Vec::new();
    for bundled in index {
        if let Some(report) = read(&bundled.name)? {
            recorded.push((bundled, report));
        }
    }
    Ok(recorded)
}

fn read(name: &str) -> Result<Option<Report>> {
    let path = report_file(name);
    if !path.exists() {
        return Ok(None);
    }
    let json = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    Report::from_json(&path.display().to_string(), &String::from_utf8_lossy(&json)).map(Some).map_err(Into::into)
}

fn write(path: PathBuf, text: &str) -> Result<()> {
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_what_is_recorded() {
        let mut index = demo::index().expect("the list of models");
        index.retain(|bundled| bundled.demo.is_some());
        let text = document(&recorded(&index).expect("reports"));
        let written = fs::read_to_string(root().join("docs/models.md")).expect("the document");
        for (line, (found, written)) in text.lines().zip(written.lines()).enumerate() {
            assert_eq!(found, written, "line {}: run `cargo xtask record --tables`", line + 1);
        }
        assert_eq!(text.len(), written.len());
    }
}
