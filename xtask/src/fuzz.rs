//! `cargo xtask fuzz`: builds the fuzzer of the parsers and starts it.

use anyhow::Result;
use clap::Args;

use crate::command::{cargo, run};

/// What is tried, and how often.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct FuzzArgs {
    /// Targets and options of the fuzzer; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Runs the fuzzer in release mode.
pub(crate) fn fuzz(args: &FuzzArgs) -> Result<()> {
    run(cargo().args(["run", "--quiet", "--release", "--package", "straightedge-fuzz", "--"]).args(&args.args))
}
