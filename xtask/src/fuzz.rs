//! `cargo xtask fuzz`: builds the fuzzer of the parsers and starts it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::command::{cargo, run};

/// What is tried, and how often.
#[derive(Args)]
pub(crate) struct FuzzArgs {
    /// Targets by name; all by default.
    targets: Vec<String>,
    /// Executions of each target.
    #[arg(long, default_value_t = 10_000)]
    runs: usize,
    /// Seed of all draws.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of the first execution.
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Only read this file with the targets.
    #[arg(long)]
    file: Option<PathBuf>,
    /// List the targets.
    #[arg(long)]
    list: bool,
}

/// Runs the fuzzer in release mode.
pub(crate) fn fuzz(args: &FuzzArgs) -> Result<()> {
    let mut program = cargo();
    program.args(["run", "--quiet", "--release", "--package", "straightedge-fuzz", "--"]).args(&args.targets);
    for (option, number) in [("--runs", args.runs as u64), ("--seed", args.seed), ("--first", args.first as u64)] {
        program.arg(option).arg(number.to_string());
    }
    if let Some(file) = &args.file {
        program.arg("--file").arg(std::path::absolute(file)?);
    }
    if args.list {
        program.arg("--list");
    }
    run(&mut program)
}
