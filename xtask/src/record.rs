//! `cargo xtask record`: every demo model measured by the engine, and tables made of the reports.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use straightedge::bundled::{Bundled, Demo};
use straightedge::report::Report;

use crate::command::{cargo, root, run};
use crate::demo;

/// What is measured; the rest is the default protocol on the model's own text.
const MEASURE: [&str; 4] = ["--measures", "fit,swap,layers", "--backend", "cpu"];

/// The summary of one report, which is all that a first view of many models needs.
#[derive(Serialize)]
struct Summary<'a> {
    name: &'a str,
    ppl: Option<f64>,
    r2_lin: Vec<Option<f64>>,
    delta_ppl_linear: Vec<Option<f64>>,
    linearity: Vec<Option<f64>>,
}

/// Measures the models of those names, or all, unless only tables are asked for; then writes summary and table of all
/// that are recorded.
pub(crate) fn record(names: &[String], only_tables: bool) -> Result<()> {
    let mut index = demo::index()?;
    index.retain(|bundled| bundled.demo.is_some());
    if let Some(unknown) = names.iter().find(|name| !index.iter().any(|bundled| bundled.name == **name)) {
        bail!("{unknown} is no bundled model that was trained");
    }
    fs::create_dir_all(folder()).with_context(|| format!("{} cannot be made", folder().display()))?;
    let wanted = |bundled: &&Bundled| !only_tables && (names.is_empty() || names.contains(&bundled.name));
    for bundled in index.iter().filter(wanted) {
        measure(&bundled.name)?;
    }
    let mut recorded = Vec::new();
    for bundled in &index {
        if let Some(report) = read(&bundled.name)? {
            recorded.push((bundled, report));
        }
    }
    let summaries: Vec<_> = recorded.iter().map(|(bundled, report)| summary(&bundled.name, report)).collect();
    write(folder().join("index.json"), &(serde_json::to_string_pretty(&summaries)? + "\n"))?;
    write(root().join("docs/models.md"), &table(&recorded))
}

fn folder() -> PathBuf {
    root().join("web/data/recorded")
}

fn report_file(name: &str) -> PathBuf {
    folder().join(format!("{name}.json"))
}

fn measure(name: &str) -> Result<()> {
    let mut measure = cargo();
    measure.args(["run", "--release", "--package", "straightedge", "--", "measure", name]).args(MEASURE);
    run(measure.arg("--out").arg(report_file(name)))
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

fn summary<'a>(name: &'a str, report: &Report) -> Summary<'a> {
    Summary {
        name,
        ppl: report.ppl,
        r2_lin: report.blocks.iter().map(|block| block.r2_lin).collect(),
        delta_ppl_linear: report.blocks.iter().map(|block| block.delta_ppl.get("linear").copied().flatten()).collect(),
        linearity: report.layers.iter().map(|layer| layer.linearity).collect(),
    }
}

/// docs/models.md.
fn table(recorded: &[(&Bundled, Report)]) -> String {
    let blocks = recorded.iter().map(|(_, report)| report.blocks.len()).max().unwrap_or(0);
    let mut text = String::from(HEAD);
    let numbers: String = (0..blocks).map(|block| format!(" {block} |")).collect();
    let _ = writeln!(text, "| model | step | loss | perplexity |{numbers}");
    let _ = writeln!(text, "|---|--:|--:|--:|{}", "--:|".repeat(blocks));
    for (bundled, report) in recorded {
        let Some(Demo { step, steps, loss, .. }) = &bundled.demo else { continue };
        let values: String = report.blocks.iter().map(|block| format!(" {} |", decimals(block.r2_lin, 3))).collect();
        let (loss, ppl) = (decimals(*loss, 2), decimals(report.ppl, 2));
        let _ = writeln!(
            text,
            "| [{0}](../web/models/{0}/README.md) | {step} of {steps} | {loss} | {ppl} |{values}",
            bundled.name
        );
    }
    text + FOOT
}

fn decimals(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.places$}"))
}

const HEAD: &str = "\
<!-- Written by `cargo xtask record`. -->

# Demo models

Small decoders trained by the project on texts that it makes itself (`src/corpus/made/`), so that the page can show its \
phenomenon offline: three families of the same width, depth and tokenizer, another seed of one, checkpoints of its run, \
and a twin that was trained with a penalty on layers that turn the residual stream. Their cards say how each was trained.

Loss is that of the last training batches, in nats per token. Perplexity is held-out, and the columns after it are R²_lin \
of each block, both on the made text `tales:1`, which shares no long sentence with any training text: 15 000 rows, \
windows of 128, five folds, on the CPU. The reports are in `web/data/recorded/`.

";

const FOOT: &str = "
`cargo xtask train all` trains them again, `cargo xtask record` measures them again.
";
