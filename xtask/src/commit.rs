//! The commit named in reports.

use std::env;
use std::process::Command;

use crate::command::{output, root};

/// The commit named in reports, marked if the sources differ from it.
pub(crate) fn commit() -> Option<String> {
    output(Command::new("git").current_dir(root()).args([
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]))
}

/// Makes reports of what `command` compiles name `commit`, unless the environment names one.
pub(crate) fn name_commit(command: &mut Command, commit: Option<&str>) {
    if let Some(commit) = commit.filter(|_| env::var_os("STRAIGHTEDGE_COMMIT").is_none()) {
        command.env("STRAIGHTEDGE_COMMIT", commit);
    }
}
