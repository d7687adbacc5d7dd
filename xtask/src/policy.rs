//! `cargo xtask policy`: checks dependencies against deny.toml, and that each one is used.

use anyhow::Result;

use crate::command::{cargo, run};
use crate::install::{Tool, tool};

/// Licences, duplicates and sources; security advisories if their database is reachable; then unused dependencies.
pub(crate) fn policy() -> Result<()> {
    let path = tool(Tool::Deny)?;
    let deny = |arguments: &[&str]| run(cargo().env("PATH", &path).args(["deny", "--workspace"]).args(arguments));
    deny(&["check", "licenses", "bans", "sources"])?;
    match deny(&["fetch", "db"]) {
        Ok(()) => deny(&["check", "advisories"])?,
        Err(error) => println!("note: advisories are not checked, as their database cannot be had ({error:#})"),
    }
    run(cargo().env("PATH", tool(Tool::Machete)?).arg("machete"))
}
