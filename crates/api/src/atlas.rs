//! The atlas: the index of the models measured by `straightedge atlas`, as the page reads it.

use serde::{Deserialize, Serialize};

use crate::fields::Field;
use crate::published::PublishedModel;
use crate::report::Report;
use crate::summary::Summary;

/// File name of the index, in the folder of the reports.
pub const INDEX: &str = "index.json";

/// Most characters of an entry's slug.
pub const SLUG_MOST: usize = 120;

/// Every model of the list, in its order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// The entries.
    pub models: Vec<AtlasEntry>,
}

/// One model on one text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtlasEntry {
    /// Unique name for files and links: letters, digits, `-`, `_` and `.`.
    pub slug: String,
    /// The model: its id on the hub, a folder or the name of a bundled model.
    pub id: String,
    /// The requested revision.
    pub revision: Option<String>,
    /// Display name.
    pub title: String,
    /// The requested text; `None` for a bundled model's own.
    pub text: Option<String>,
    /// Its progress.
    pub state: AtlasState,
    /// SHA-256 of the settings and the program's version; a change means a new measurement.
    pub settings: String,
    /// The error, if it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Its finished measurement.
    #[serde(default)]
    pub measured: Option<Measured>,
}

/// Progress of a model of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtlasState {
    /// Not measured yet.
    #[default]
    Pending,
    /// Measured; there is a report.
    Measured,
    /// Failed; tried again in the next run.
    Failed,
}

/// A finished measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The report, in the folder of the index.
    pub report: String,
    /// The resolved commit of a model on the hub.
    pub commit: Option<String>,
    /// Unix time of its end in seconds.
    pub ended: u64,
    /// Its curves.
    pub summary: Summary,
    /// Agreement with published values.
    #[serde(default)]
    pub published: Option<Replication>,
}

impl Measured {
    /// The index entry of a report written to the file `report`.
    pub fn new(report: String, content: &Report, ended: u64) -> Self {
        let commit = content.model.revision.clone();
        Self { report, commit, ended, summary: Summary::new(content), published: None }
    }
}

/// Comparison with published values of the same model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// The model's name in the paper.
    pub model: String,
    /// The paper's corpus.
    pub corpus: String,
    /// Largest difference of `r2_lin_scalar`; `None` where the numbers of blocks differ.
    pub most: Option<PublishedDifference>,
}

/// A difference between two values of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedDifference {
    /// The block.
    pub block: usize,
    /// Its absolute difference.
    pub value: f64,
}

impl Replication {
    /// Compares a measurement with the published values of `model` on `corpus`.
    pub fn new(model: &PublishedModel, corpus: &str, measured: &Summary) -> Self {
        let (ours, theirs) = (measured.curve(Field::R2LinScalar), model.on(corpus));
        let pairs = ours.iter().zip(&theirs).enumerate();
        let differences = pairs.filter_map(|(block, (ours, theirs))| {
            let value = ((*ours)? - (*theirs)?).abs();
            Some(PublishedDifference { block, value })
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
