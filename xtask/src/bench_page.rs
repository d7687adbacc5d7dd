//! `cargo xtask bench-page`: times a complete measurement of a model with random weights in the page, in Chromium.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::build::Build;
use crate::command::{root, run};
use crate::install;
use crate::test::node;

/// What is measured; the script gets it as JSON.
#[derive(Args, Serialize)]
pub(crate) struct BenchPageArgs {
    /// Shape of the model as LAYERSxWIDTH, as in 3x256; by default that of the smallest GPT-2.
    #[arg(long)]
    shape: Option<String>,
    /// Measure a Llama in BF16 instead, in the shape of this model.
    #[arg(long, conflicts_with = "shape")]
    llama: Option<String>,
    /// Number of blocks, if it is not that of the model.
    #[arg(long, conflicts_with = "shape")]
    blocks: Option<usize>,
    /// Rows to measure.
    #[arg(long, default_value_t = 14_976)]
    rows: usize,
    /// Folds of the rows.
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Numbers of cores that the browser reports, one measurement each.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    cores: Vec<usize>,
    /// The device: `cpu` or `gpu`.
    #[arg(long, default_value = "cpu")]
    backend: String,
    /// Load the model from a hub that sends this many bytes per second, instead of from a folder.
    #[arg(long)]
    rate: Option<u64>,
    /// Bytes of rows to hold in memory, and on a GPU as many there, before rows go to a file of the browser.
    #[arg(long)]
    row_memory: Option<u64>,
    /// A built page to measure in; by default one is built.
    #[arg(long)]
    #[serde(skip)]
    site: Option<PathBuf>,
}

/// Prints a table, and writes reports and traces to target/bench/.
pub(crate) fn bench_page(args: &BenchPageArgs) -> Result<()> {
    install::driver()?;
    let browser = install::browser()?;
    let site = match &args.site {
        Some(site) => site.clone(),
        None => Build::full().run()?,
    };
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder)?;
    let settings = serde_json::to_string(args)?;
    run(node("tests/browser", &["bench.mjs", &settings], site, &browser)?.arg(folder))
}
