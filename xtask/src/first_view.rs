//! Pre-renders the page's first view into index.html with the page's own code, so that it shows before any module.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, shown};
use crate::share;

/// Placeholder in index.html.
const PLACE: &str = "<!-- first view -->";

/// The first view, rendered by the page, which runs natively for it.
pub(crate) fn render() -> Result<String> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "straightedge-page", "--bin", "page"]);
    eprintln!("$ {}", shown(&command));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("the first view cannot be rendered");
    }
    String::from_utf8(output.stdout).context("the first view is no text")
}

/// Inserts the first view into `dist/index.html`.
pub(crate) fn write(view: &str, dist: &Path) -> Result<()> {
    let file = dist.join("index.html");
    let page = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let page = share::fill(&page, PLACE, view.trim())?;
    fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))
}
