//! The atlas: what came of a list of models that `straightedge atlas` measured, as its index tells the page.

use serde::{Deserialize, Serialize};

use crate::fields::Field;
use crate::published::PublishedModel;
use crate::report::Report;
use crate::summary::Summary;

/// The index, in the folder of the reports.
pub const INDEX: &str = "index.json";

/// Most letters of an entry's slug.
pub const SLUG_MOST: usize = 120;

/// Every model of the list, in its order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// One entry each.
    pub models: Vec<Entry>,
}

/// One model on one text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name that no other entry has, for files and links: letters, digits, `-`, `_` and `.`.
    pub slug: String,
    /// The model: its id on the hub, a folder or the name of a bundled model.
    pub id: String,
    /// Revision asked for.
    pub revision: Option<String>,
    /// Name for people.
    pub title: String,
    /// The text asked for; `None` is a bundled model's own.
    pub text: Option<String>,
    /// Where it stands.
    pub state: State,
    /// SHA-256 of what was asked for and of the program's version: another one is another measurement.
    pub settings: String,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// What its measurement came to.
    #[serde(default)]
    pub measured: Option<Measured>,
}

/// Where a model of the list stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its turn has not come.
    #[default]
    Pending,
    /// There is a report.
    Measured,
    /// It could not be measured, and is tried again in the next run.
    Failed,
}

/// A finished measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The report, in the folder of the index.
    pub report: String,
    /// The commit that the revision stood for, of a model on the hub.
    pub commit: Option<String>,
    /// When it ended, in seconds since the beginning of 1970, UTC.
    pub ended: u64,
    /// Its curves.
    pub summary: Summary,
    /// How it agrees with published values.
    #[serde(default)]
    pub published: Option<Replication>,
}

impl Measured {
    /// What the index tells of a report, written to the file `report`.
    pub fn new(report: String, content: &Report, ended: u64) -> Self {
        let commit = content.model.revision.clone();
        Self { report, commit, ended, summary: Summary::new(content), published: None }
    }
}

/// Published values of the same model, and how far the measured ones are from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// The model's name in the paper.
    pub model: String,
    /// The corpus in the paper.
    pub corpus: String,
    /// Largest difference of `r2_lin_scalar`; `None` where the numbers of blocks differ.
    pub most: Option<Difference>,
}

/// A difference between two values of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The block.
    pub block: usize,
    /// Its absolute difference.
    pub value: f64,
}

impl Replication {
    /// Compares a measurement with what was published of `model` on `corpus`.
    pub fn new(model: &PublishedModel, corpus: &str, measured: &Summary) -> Self {
        let (ours, theirs) = (measured.curve(Field::R2LinScalar), model.on(corpus));
        let pairs = ours.iter().zip(&theirs).enumerate();
        let differences = pairs.filter_map(|(block, (ours, theirs))| {
            let value = ((*ours)? - (*theirs)?).abs();
            Some(Difference { block, value })
        });
        let most = differences.max_by(|a, b| a.value.total_cmp(&b.value));
        Self { model: model.name.clone(), corpus: corpus.into(), most: most.filter(|_| ours.len() == theirs.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Published, SURVEY};

    #[test]
    fn the_largest_difference_is_found_with_its_block_among_the_same_blocks_alone() {
        let published: Published = serde_json::from_str(include_str!("../../../web/data/published.json")).unwrap();
        let model = &published.models[0];
        let mut values = model.on(SURVEY);
        let summary = |values: &[_]| Summary::of("gpt2".into(), [(Field::R2LinScalar, values.to_vec())]);
        let same = Replication::new(model, SURVEY, &summary(&values));
        assert_eq!((same.most.map(|most| most.value), same.model.as_str()), (Some(0.0), "gpt2"));
        for (block, change) in [(2, 0.125), (7, -0.25), (9, 0.0625)] {
            values[block] = values[block].map(|value| value + change);
        }
        values[5] = None;
        let most = Replication::new(model, SURVEY, &summary(&values)).most.expect("a difference");
        assert!(most.block == 7 && (most.value - 0.25).abs() < 1e-12, "{most:?}");
        values.pop();
        assert_eq!(Replication::new(model, SURVEY, &summary(&values)).most, None);
    }
}
