//! The commands of the native program, one file each.

mod args;
mod atlas;
mod bundled;
mod compare;
mod continuation;
mod crash;
mod drive;
mod export;
mod grid;
mod hub;
mod inputs;
mod measure;
mod progress;
mod report_file;
mod results;
mod status;
mod swap_table;
mod table;
mod tuning;

use std::process::ExitCode;

use clap::Parser;
use straightedge::error::{Error, Result};

use args::{Args, Command};
use status::{Status, print_error, print_line};

/// Parses the arguments, runs the command and prints an error as one line.
pub(crate) fn main() -> ExitCode {
    drive::keep_ignoring_hangups();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let ended = crash::catch(|| run(args.command)).and_then(|ended| ended);
    let status = ended.unwrap_or_else(|error| {
        print_error(&error);
        Status::BadInput
    });
    ExitCode::from(status as u8)
}

fn run(command: Command) -> Result<Status> {
    match command {
        Command::Measure(args) => measure::measure(&args),
        Command::Fit(args) => measure::fit(&args),
        Command::Show { report } => {
            results::print(&table::table(&inputs::report(&report)?))?;
            Ok(Status::Done)
        }
        Command::Compare { a, b, tolerance } => compare::compare(&inputs::report(&a)?, &inputs::report(&b)?, tolerance),
        Command::Atlas(args) => atlas::atlas(&args),
        Command::Models => {
            results::print(&(bundled::list() + &hub::list()))?;
            Ok(Status::Done)
        }
        Command::Export(args) => without_results(export::export(&args)),
        Command::Continue(args) => without_results(continuation::continuation(&args)),
    }
}

/// The result of a command that keeps nothing of what it measures.
fn without_results(found: Result<Status>) -> Result<Status> {
    if !matches!(found, Err(Error::Cancelled)) {
        return found;
    }
    status::print_line("straightedge: cancelled: stopped on request");
    Ok(Status::Interrupted)
}

/// Help and version as clap writes them; anything else as one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let why = if why.ends_with(':') {
        // clap lists missing arguments on the next lines.
        let missing: Vec<_> = text.lines().skip(1).take_while(|line| !line.is_empty()).map(str::trim).collect();
        format!("{why} {}", missing.join(", "))
    } else {
        why.to_owned()
    };
    print_line(&format!("straightedge: arguments: {why}; see straightedge --help"));
    ExitCode::from(Status::BadInput as u8)
}
