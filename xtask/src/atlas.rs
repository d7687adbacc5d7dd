//! `cargo xtask atlas`: measures a list of models with the release command line, and adds an atlas to dist/.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use straightedge_api::atlas::{AtlasEntry, AtlasState, INDEX, Index, Measured, SLUG_MOST};
use straightedge_api::date::seconds;
use straightedge_api::report::Report;

use crate::bundle::copy;
use crate::command::{cargo, root, run};
use crate::commit::{commit, name_commit};

/// Default folder of an atlas.
const FOLDER: &str = "web/data/atlas";

/// Most bytes of a report that people add.
const LARGEST: usize = 2_000_000;

/// `atlas`.
#[derive(Args)]
pub(crate) struct AtlasArgs {
    /// List of models.
    #[arg(long, value_name = "LIST.toml", default_value = "atlas.toml")]
    list: PathBuf,
    /// Folder for the reports and their index; results measured the same way before are kept.
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    out: PathBuf,
}

/// Measures missing models. A model that fails is listed as failed in the index and is no error here.
pub(crate) fn atlas(AtlasArgs { list, out }: &AtlasArgs) -> Result<()> {
    let mut measure = cargo();
    measure.args(["run", "--release", "--package", "straightedge", "--", "atlas"]);
    name_commit(&mut measure, commit().as_deref());
    run(measure.arg(list).arg("--out").arg(out))
}

/// Copies the index of an atlas and its reports into `dist`; writes an empty index without an atlas.
pub(crate) fn put(folder: Option<&Path>, dist: &Path) -> Result<()> {
    let (from, to) = (root().join(folder.unwrap_or(Path::new(FOLDER))), dist.join("data/atlas"));
    if to.exists() {
        fs::remove_dir_all(&to).with_context(|| format!("{} cannot be emptied", to.display()))?;
    }
    let mut index = read(&from.join(INDEX), folder.is_some())?;
    index.models.extend(contributed(&from, &index)?);
    for measured in index.models.iter().filter_map(|entry| entry.measured.as_ref()) {
        copy(&from.join(&measured.report), &to.join(&measured.report))?;
    }
    fs::create_dir_all(&to).with_context(|| format!("{} cannot be made", to.display()))?;
    let index = serde_json::to_string(&index)?;
    fs::write(to.join(INDEX), index).with_context(|| format!("{} cannot be written", to.display()))
}

/// Entries of the reports that the index does not name: those that people have added to the folder.
fn contributed(folder: &Path, index: &Index) -> Result<Vec<AtlasEntry>> {
    let is_known = |name: &str| {
        // A model of the list that failed may have left a report of its finished blocks.
        let is_left =
            |entry: &AtlasEntry| entry.slug == name.trim_end_matches(".json") && is_partial(&folder.join(name));
        index.models.iter().any(|entry| match &entry.measured {
            Some(measured) => measured.report == name,
            None => is_left(entry),
        })
    };
    let Ok(files) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for file in files {
        let name = file?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") && name != INDEX && !is_known(&name) {
            names.push(name);
        }
    }
    names.sort();
    names.into_iter().map(|name| entry(folder, name)).collect()
}

fn is_partial(path: &Path) -> bool {
    let json = fs::read_to_string(path).unwrap_or_default();
    Report::from_json("", &json).is_ok_and(|report| report.partial)
}

/// The entry of an added report, whose file is named after the model and the text.
fn entry(folder: &Path, name: String) -> Result<AtlasEntry> {
    let path = folder.join(&name);
    let slug = name.trim_end_matches(".json").to_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        slug.len() <= SLUG_MOST && slug.chars().all(is_plain),
        "{}: name it by letters, digits, - and _, at most {SLUG_MOST}",
        path.display()
    );
    let json = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    ensure!(json.len() <= LARGEST, "{} is larger than {LARGEST} bytes", path.display());
    let report = Report::from_json(&name, &json)?;
    ensure!(!report.partial && !report.blocks.is_empty(), "{}: its measurement did not end", path.display());
    let date = report.date.as_deref().and_then(seconds);
    let ended =
        date.with_context(|| format!("{}: it has no date, measure it with a current version", path.display()))?;
    let measured = Measured::new(name, &report, u64::try_from(ended).unwrap_or_default());
    Ok(AtlasEntry {
        slug,
        title: report.model.id.clone(),
        id: report.model.id,
        text: Some(report.corpus.id),
        state: AtlasState::Measured,
        measured: Some(measured),
        ..AtlasEntry::default()
    })
}

/// Reads an index; a missing one is an error only if `must_exist`.
fn read(path: &Path, must_exist: bool) -> Result<Index> {
    if !must_exist && !path.exists() {
        return Ok(Index::default());
    }
    let json = fs::read(path).with_context(|| format!("{} cannot be read; run cargo xtask atlas", path.display()))?;
    serde_json::from_slice(&json).with_context(|| format!("{} is no index of an atlas", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_index_names_goes_along_and_there_is_always_an_index() {
        let folder = std::env::temp_dir().join(format!("straightedge-atlas-{}", std::process::id()));
        let (atlas, dist) = (folder.join("atlas"), folder.join("dist"));
        fs::create_dir_all(&atlas).expect("a folder");
        assert!(put(Some(&atlas), &dist).is_err(), "a folder that is named must hold an index");
        let measured = Measured { report: "one.json".into(), ..Measured::default() };
        let one = AtlasEntry {
            slug: "one".into(),
            state: AtlasState::Measured,
            measured: Some(measured),
            ..AtlasEntry::default()
        };
        let two = AtlasEntry { slug: "two".into(), state: AtlasState::Failed, ..AtlasEntry::default() };
        let index = Index { models: vec![one, two] };
        fs::write(atlas.join(INDEX), serde_json::to_string(&index).expect("plain data")).expect("a file");
        fs::write(atlas.join("one.json"), "a report").expect("a file");
        put(Some(&atlas), &dist).expect("an atlas");
        let there = |name: &str| fs::read_to_string(dist.join("data/atlas").join(name)).ok();
        assert_eq!(there("one.json").as_deref(), Some("a report"));
        assert_eq!(read(&dist.join("data/atlas").join(INDEX), true).expect("an index"), index);
        let added = fs::read_to_string(root().join("tests/fixtures/before/report.json")).expect("a report");
        let mut added: serde_json::Value = serde_json::from_str(&added).expect("a report");
        added["date"] = "2026-11-25T02:34:05Z".into();
        fs::write(atlas.join("somebodys.json"), added.to_string()).expect("a file");
        put(Some(&atlas), &dist).expect("an atlas");
        let found = read(&dist.join("data/atlas").join(INDEX), true).expect("an index").models.pop().expect("an entry");
        assert_eq!((found.slug.as_str(), found.state), ("somebodys", AtlasState::Measured));
        let measured = found.measured.expect("a measurement");
        assert_eq!((measured.report.as_str(), measured.ended), ("somebodys.json", 1_795_574_045));
        assert!(there("somebodys.json").is_some());
        let changed = |field: &str, value: serde_json::Value| {
            let mut report = added.clone();
            report[field] = value;
            report.to_string()
        };
        fs::write(atlas.join("two.json"), changed("partial", true.into())).expect("a file");
        put(Some(&atlas), &dist).expect("what a failed model has left is passed over");
        assert!(there("two.json").is_none());
        fs::write(atlas.join("two.json"), added.to_string()).expect("a file");
        put(Some(&atlas), &dist).expect("a complete one is somebody's");
        assert!(there("two.json").is_some());
        for (name, content) in [
            ("cut.json", "{".into()),
            ("not a name.json", added.to_string()),
            ("undated.json", changed("date", serde_json::Value::Null)),
            ("partial.json", changed("partial", true.into())),
            ("large.json", added.to_string() + &" ".repeat(LARGEST)),
        ] {
            fs::write(atlas.join(name), content).expect("a file");
            let refused = put(Some(&atlas), &dist).expect_err("no report").to_string();
            assert!(refused.contains(name.trim_end_matches(".json")), "{refused}");
            fs::remove_file(atlas.join(name)).expect("removed");
        }
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(read(&folder.join(INDEX), false).expect("an empty one"), Index::default());
    }
}
