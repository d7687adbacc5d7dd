//! The command line program `straightedge`: the engine without the page.
//!
//! Exit status: 0 done, 1 `compare` found differences, 2 bad input (one line on standard error), 130 interrupted.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
