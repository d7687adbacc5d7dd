//! The folder dist/: its files, and their sizes compressed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::command::root;
use crate::modules::{Effort, MODULES};

/// Sources of static files and where they go within dist/.
const STATIC: [(&str, &str); 4] =
    [("index.html", "index.html"), ("web/public", ""), ("web/models", "models"), ("web/data", "data")];

/// Style sheets in web/style, in their order in dist/style.css: one file, because browsers ask for six at a time.
const STYLES: [&str; 6] = ["base", "controls", "results", "views", "lesson", "sides"];

/// Collects modules and static files in a fresh `dist`.
pub(crate) fn assemble(modules: &[PathBuf], dist: &Path) -> Result<()> {
    let modules: Vec<&Path> = modules.iter().map(PathBuf::as_path).collect();
    gather(&modules, dist)?;
    for (from, to) in STATIC {
        copy(&root().join(from), &dist.join(to))?;
    }
    condense(&dist.join("data"))?;
    fs::write(dist.join("style.css"), style()?).context("dist/style.css cannot be written")
}

/// Takes line breaks and indentation out of the JSON files of a folder: a seventh less to send, compressed.
fn condense(folder: &Path) -> Result<()> {
    for file in files(folder)?.iter().filter(|file| file.extension().is_some_and(|name| name == "json")) {
        let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        // Strings contain no line breaks as such.
        let text: String = text.lines().map(str::trim_start).collect();
        fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// All style sheets as one.
fn style() -> Result<String> {
    let folder = root().join("web/style");
    let found = files(&folder)?.len();
    if found != STYLES.len() {
        bail!("web/style has {found} files, but the page has {} style sheets: list them in {}", STYLES.len(), file!());
    }
    STYLES
        .iter()
        .map(|name| {
            let file = folder.join(name).with_extension("css");
            fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))
        })
        .collect()
}

/// Collects the contents of some folders in a fresh `to`.
pub(crate) fn gather(folders: &[&Path], to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("{} cannot be emptied", to.display()))?;
    }
    folders.iter().try_for_each(|folder| copy(folder, to))
}

/// Copies a file or a whole folder.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        return files(from)?.iter().try_for_each(|file| {
            let name = file.strip_prefix(from).expect("a listed file is inside the folder that was listed");
            copy(file, &to.join(name))
        });
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    }
    fs::copy(from, to).with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
    Ok(())
}

/// All files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Largest gzip-compressed size of each module in bytes, because every visitor waits for the download.
const LIMITS: [usize; MODULES.len()] = [1_050_000, 2_000_000];

/// Prints every file's size as it is and compressed; a build for hosting must respect the limits.
pub(crate) fn print_sizes(dist: &Path, effort: Effort) -> Result<()> {
    let mut excess = Vec::new();
    println!("{:<40} {:>12} {:>12}", "dist/", "bytes", "gzip");
    let (mut raw_total, mut sent_total) = (0, 0);
    for file in files(dist)? {
        let bytes = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let (raw, sent) = (bytes.len(), gzip_len(&bytes)?);
        let name = file.strip_prefix(dist).unwrap_or(&file);
        println!("{:<40} {raw:>12} {sent:>12}", name.display());
        excess.extend(beyond_limit(name, sent));
        raw_total += raw;
        sent_total += sent;
    }
    println!("{:<40} {raw_total:>12} {sent_total:>12}", "all");
    if effort == Effort::Full && !excess.is_empty() {
        bail!("too much for a first visit: {}", excess.join(", "));
    }
    Ok(())
}

/// A sentence about a file above its limit.
fn beyond_limit(name: &Path, sent: usize) -> Option<String> {
    let (_, most) = MODULES.iter().zip(LIMITS).find(|(module, _)| name == Path::new(&module.file()))?;
    (sent > most).then(|| format!("{} has {sent} bytes compressed, where {most} are the most", name.display()))
}

fn gzip_len(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::target;

    #[test]
    fn condensed_json_has_the_same_content() {
        let folder = target("tmp/condensed");
        fs::create_dir_all(&folder).expect("a folder");
        let value = serde_json::json!({ "text": "two\n  lines ", "list": [1, 2.5e-17, {}] });
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
        write("a.json", &serde_json::to_string_pretty(&value).expect("JSON"));
        write("a.txt", "two\n  lines");
        condense(&folder).expect("condensed");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        assert!(!read("a.json").contains('\n'), "{}", read("a.json"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&read("a.json")).expect("JSON"), value);
        assert_eq!(read("a.txt"), "two\n  lines");
    }

    #[test]
    fn only_what_everybody_waits_for_is_limited_and_to_the_byte() {
        for (module, most) in MODULES.iter().zip(LIMITS) {
            let name = module.file();
            assert_eq!(beyond_limit(Path::new(&name), most), None);
            let refusal = beyond_limit(Path::new(&name), most + 1).expect("a refusal");
            assert!(refusal.contains(&name) && refusal.contains(&most.to_string()), "{refusal}");
        }
        assert_eq!(beyond_limit(Path::new("models/demo-gpt2/model.safetensors"), usize::MAX), None);
    }
}
