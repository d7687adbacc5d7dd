//! Paths of the bundled models, and the results known from their construction.

use serde::Deserialize;
use straightedge_api::bundled::{Bundled, DefaultText};
use straightedge_api::report::BlockReport;

use straightedge_api::message::{ModelSource, TextSource};

/// The list of bundled models, relative to the page.
pub const INDEX: &str = "models/index.json";

/// Largest deviation from an expected value that counts as agreement.
const TOLERANCE: f64 = 1e-5;

/// Path of one of a model's files, relative to the page.
pub fn path(bundled: &Bundled, file: &str) -> String {
    format!("{}/{file}", folder(bundled))
}

/// A model as a source for the worker.
pub fn source(bundled: &Bundled) -> ModelSource {
    ModelSource::Bundled { folder: folder(bundled), files: bundled.files.clone() }
}

/// Name of a model's text in reports, and its source for the worker; generated text is long enough for `rows`.
pub fn text_source(bundled: &Bundled, rows: usize) -> (String, TextSource) {
    match &bundled.text {
        DefaultText::File(file) => {
            (format!("{}/{file}", bundled.name), TextSource::Bundled { path: path(bundled, file) })
        }
        DefaultText::Corpus(corpus) => (corpus.clone(), TextSource::Synthetic { corpus: corpus.clone(), rows }),
    }
}

fn folder(bundled: &Bundled) -> String {
    format!("models/{}", bundled.name)
}

/// Results of a measurement that are known from the model's construction.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Expected {
    /// R²_lin of every block; null where it is undefined.
    pub r2_lin: Vec<Option<f64>>,
    /// What every block was constructed to be.
    #[serde(default)]
    pub title: Vec<String>,
}

impl Expected {
    /// Compares a measured block; `None` if nothing is expected of it.
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
    /// The value known from construction.
    pub expected: Option<f64>,
    /// Whether the measurement agrees.
    pub agrees: bool,
}

/// A list with one model, for tests.
#[cfg(test)]
pub(crate) fn sample() -> Vec<Bundled> {
    use std::collections::BTreeMap;

    vec![Bundled {
        name: "calibration".into(),
        title: "Calibration".into(),
        about: String::new(),
        files: BTreeMap::from([("config.json".into(), 2)]),
        text: DefaultText::File("text.txt".into()),
        expected: None,
        demo: None,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

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
