//! Pre-renders the page's recorded views and ready comparisons with the page's own code, so that they show before any
//! module: the first view into index.html, the others into files of their own, which early.js shows where a link opens
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use straightedge_api::atlas::Index;

use crate::command::{cargo, shown};
use crate::integrity::hash;
use crate::share;

/// The view that an address opens which names none.
const FIRST: &str = "sides";
/// Placeholder in index.html.
const PLACE: &str = "<!-- first view -->";
/// Placeholder in early.js for the files of the other views with their hashes.
const FILES: &str = "{/* views */}";

/// Views by name.
pub(crate) type Views = BTreeMap<String, String>;

/// The views, rendered by the page, which runs natively for it; comparisons list the models of the atlas.
pub(crate) fn render(atlas: &Index) -> Result<Views> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "straightedge-page", "--bin", "page"]);
    eprintln!("$ {}", shown(&command));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cargo does not start")?;
    // If the page ends before it has read it, its status says so.
    let _ = child.stdin.take().map(|input| serde_json::to_writer(input, atlas));
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("the first view cannot be rendered");
    }
    serde_json::from_slice(&output.stdout).context("the page renders other views than these")
}

/// Inserts the first view into `dist/index.html`, and writes the others beside it.
pub(crate) fn write(mut views: Views, dist: &Path) -> Result<()> {
    let first = views.remove(FIRST).context("the page has no first view")?;
    fill(&dist.join("index.html"), PLACE, first.trim())?;
    let folder = dist.join("views");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut hashes = BTreeMap::new();
    for (name, view) in &views {
        let file = folder.join(format!("{name}.html"));
        fs::write(&file, view).with_context(|| format!("{} cannot be written", file.display()))?;
        hashes.insert(name, format!("sha256-{}", hash(view.as_bytes())));
    }
    fill(&dist.join("early.js"), FILES, &serde_json::to_string(&hashes)?)
}

/// Replaces a placeholder in a file.
fn fill(file: &Path, place: &str, content: &str) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let text = share::fill(&text, place, content).with_context(|| format!("{} is not complete", file.display()))?;
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::target;

    #[test]
    fn the_first_view_is_in_the_page_and_every_other_is_a_file_with_its_hash() {
        let dist = target("tmp/first-view");
        // Of an earlier run, or absent.
        let _ = fs::remove_dir_all(&dist);
        fs::create_dir_all(&dist).expect("a folder");
        let put = |name: &str, text: &str| fs::write(dist.join(name), text).expect("a file");
        let read = |name: &str| fs::read_to_string(dist.join(name)).expect("a file");
        put("index.html", "<div><!-- first view --></div>");
        put("early.js", "const VIEWS = {/* views */};");
        let views = [(FIRST, "<p>first</p>\n"), ("losses", "")].map(|(name, view)| (name.into(), view.into()));
        write(Views::from(views), &dist).expect("views");
        assert_eq!(read("index.html"), "<div><p>first</p></div>");
        assert_eq!(read("views/losses.html"), "");
        let hash = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(read("early.js"), format!(r#"const VIEWS = {{"losses":"{hash}"}};"#));
        write(Views::new(), &dist).expect_err("no first view");
    }
}
