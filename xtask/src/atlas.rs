//! `cargo xtask atlas`: measures a list of models with the release command line, and adds an atlas to dist/.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use straightedge_api::atlas::{INDEX, Index};

use crate::bundle::copy;
use crate::command::{cargo, root, run};
use crate::commit::{commit, name_commit};

/// Default folder of an atlas.
const FOLDER: &str = "web/data/atlas";

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
    let index = read(&from.join(INDEX), folder.is_some())?;
    for measured in index.models.iter().filter_map(|entry| entry.measured.as_ref()) {
        copy(&from.join(&measured.report), &to.join(&measured.report))?;
    }
    fs::create_dir_all(&to).with_context(|| format!("{} cannot be made", to.display()))?;
    let index = serde_json::to_string(&index)?;
    fs::write(to.join(INDEX), index).with_context(|| format!("{} cannot be written", to.display()))
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
    use straightedge_api::atlas::{Entry, Measured, State};

    use super::*;

    #[test]
    fn what_the_index_names_goes_along_and_there_is_always_an_index() {
        let folder = std::env::temp_dir().join(format!("straightedge-atlas-{}", std::process::id()));
        let (atlas, dist) = (folder.join("atlas"), folder.join("dist"));
        fs::create_dir_all(&atlas).expect("a folder");
        assert!(put(Some(&atlas), &dist).is_err(), "a folder that is named must hold an index");
        let measured = Measured { report: "one.json".into(), ..Measured::default() };
        let one = Entry { slug: "one".into(), state: State::Measured, measured: Some(measured), ..Entry::default() };
        let two = Entry { slug: "two".into(), state: State::Failed, ..Entry::default() };
        let index = Index { models: vec![one, two] };
        fs::write(atlas.join(INDEX), serde_json::to_string(&index).expect("plain data")).expect("a file");
        for (name, content) in [("one.json", "a report"), ("dropped.json", "of a model that the list has no more")] {
            fs::write(atlas.join(name), content).expect("a file");
        }
        put(Some(&atlas), &dist).expect("an atlas");
        let there = |name: &str| fs::read_to_string(dist.join("data/atlas").join(name)).ok();
        assert_eq!(there("one.json").as_deref(), Some("a report"));
        assert_eq!(there("dropped.json"), None);
        assert_eq!(read(&dist.join("data/atlas").join(INDEX), true).expect("an index"), index);
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(read(&folder.join(INDEX), false).expect("an empty one"), Index::default());
    }
}
