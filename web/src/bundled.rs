//! The models that come with the page, and what is known about them by construction.

use std::collections::BTreeMap;

use serde::Deserialize;
use straightedge::report::BlockReport;

use crate::message::{ModelSource, TextSource};

/// The list of bundled models, relative to the page.
pub const INDEX: &str = "models/index.json";

/// Largest deviation from an expected value that counts as agreement.
const TOLERANCE: f64 = 1e-5;

/// One entry of [`INDEX`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Bundled {
    /// Folder below `models/`, and the model's identifier in reports.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What it is, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// Size in bytes of every file in Hugging Face layout.
    pub files: BTreeMap<String, u64>,
    /// File in the folder with the text to measure it on.
    pub text: String,
    /// File in the folder with values known by construction, read as [`Expected`].
    #[serde(default)]
    pub expected: Option<String>,
}

impl Bundled {
    /// Path of one of its files, relative to the page.
    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.folder())
    }

    /// Where the worker finds the model.
    pub fn source(&self) -> ModelSource {
        ModelSource::Bundled { folder: self.folder(), files: self.files.clone() }
    }

    /// Where the worker finds its text.
    pub fn text_source(&self) -> TextSource {
        TextSource::Bundled { path: self.path(&self.text) }
    }

    fn folder(&self) -> String {
        format!("models/{}", self.name)
    }
}

/// What a measurement of a model must give, known from how the model was made.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Expected {
    /// R²_lin of every block; null where it is undefined.
    pub r2_lin: Vec<Option<f64>>,
    /// What every block was made to be.
    #[serde(default)]
    pub title: Vec<String>,
}

impl Expected {
    /// Compares a measured block; `None` where nothing is expected of it.
    pub fn verdict(&self, block: &BlockReport) -> Option<Verdict> {
        let expected = *self.r2_lin.get(block.block)?;
        let agrees = match (expected, block.r2_lin) {
            (Some(expected), Some(measured)) => (expected - measured).abs() <= TOLERANCE,
            (None, None) => true,
            _ => false,
        };
        Some(Verdict { expected, agrees })
    }
}

/// An expected value and whether the measured one agrees with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What construction says.
    pub expected: Option<f64>,
    /// Whether the measurement says the same.
    pub agrees: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_read_with_and_without_its_optional_fields() {
        let json = r#"[
            {"name": "calibration", "title": "Calibration", "about": "Known.", "files": {"config.json": 300},
             "text": "text.txt", "expected": "expected.json"},
            {"name": "plain", "title": "Plain", "files": {}, "text": "t.txt"}
        ]"#;
        let index: Vec<Bundled> = serde_json::from_str(json).unwrap();
        assert_eq!(index[0].path("config.json"), "models/calibration/config.json");
        assert_eq!(index[0].text_source(), TextSource::Bundled { path: "models/calibration/text.txt".into() });
        assert_eq!(index[1].expected, None);
    }

    #[test]
    fn a_verdict_tells_agreement_from_everything_else() {
        let expected = Expected { r2_lin: vec![Some(1.0), None], title: Vec::new() };
        let verdict = |block, r2_lin| {
            let measured = BlockReport { block, r2_lin, ..Default::default() };
            expected.verdict(&measured).map(|verdict| verdict.agrees)
        };
        assert_eq!(verdict(0, Some(1.0 - 9e-6)), Some(true));
        assert_eq!(verdict(0, Some(1.0 - 2e-5)), Some(false));
        assert_eq!(verdict(0, Some(f64::NAN)), Some(false));
        assert_eq!(verdict(0, None), Some(false));
        assert_eq!(verdict(1, None), Some(true));
        assert_eq!(verdict(1, Some(0.0)), Some(false));
        assert_eq!(verdict(2, Some(0.0)), None);
    }
}
