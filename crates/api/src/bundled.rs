//! The list of bundled models, read by page, command line and build tool.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Synthetic texts that the page offers by name; any other measurement seed works as well.
pub const SYNTHETIC_TEXTS: [&str; 3] = ["tales:1", "encyclopedia:1", "puzzles:1"];

/// One entry of `models/index.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bundled {
    /// Folder below `models/`, and the model's identifier in reports.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Description in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// Size in bytes of every file a measurement may read.
    pub files: BTreeMap<String, u64>,
    /// Default text.
    pub text: DefaultText,
    /// File in the folder with values known by construction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Training details of the models trained by this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<Demo>,
}

/// The default text of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultText {
    /// A file in the model's folder.
    File(String),
    /// A synthetic text such as `tales:1`.
    Corpus(String),
}

/// The settings in which trained models differ; width, depth, tokenizer and recipe are shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demo {
    /// Its run, named like the final model.
    pub run: String,
    /// `gpt2`, `gpt_neox` or `llama`.
    pub family: String,
    /// Seed of the initial weights, unless it is fine-tuned, and of the training text.
    pub seed: u64,
    /// Steps done.
    pub step: usize,
    /// Steps of the whole run.
    pub steps: usize,
    /// λ of the regulariser λ·Σ_ℓ (1 − cos(h_ℓ, h_ℓ₋₁)); 0 without it.
    pub cosine_penalty: f64,
    /// λ of the regulariser λ·Σ_ℓ ‖h_ℓ − h_ℓ₋₁‖²; absent without it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mse_penalty: f64,
    /// Mean loss of the last training batches in nats per token; null before the first step.
    pub loss: Option<f64>,
    /// The model that it was fine-tuned from, and the text; absent if training began with drawn weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuning: Option<FineTuning>,
}

/// Training of a finished model on one domain of synthetic text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FineTuning {
    /// Name of the model.
    pub base: String,
    /// Name of the domain, such as `puzzles`.
    pub domain: String,
}

/// Whether a regulariser is left out, and then from the list too.
fn is_zero(penalty: &f64) -> bool {
    *penalty == 0.0
}

impl Demo {
    /// The regulariser that it was trained with, and its λ.
    pub fn regulariser(&self) -> Option<(&'static str, f64)> {
        [("cosine", self.cosine_penalty), ("MSE", self.mse_penalty)].into_iter().find(|(_, lambda)| *lambda > 0.0)
    }

    /// Whether it was trained from drawn weights, on all texts and without a regulariser.
    pub fn is_plain(&self) -> bool {
        self.regulariser().is_none() && self.fine_tuning.is_none()
    }

    /// Whether its run is complete.
    pub fn is_complete(&self) -> bool {
        self.step == self.steps
    }

    /// Its checkpoint name; `None` at the end of the run.
    pub fn checkpoint(&self) -> Option<String> {
        (!self.is_complete()).then(|| format!("step{}", self.step))
    }

    /// Whether it equals `other` in family, seed and step, but was trained without a regulariser.
    pub fn is_plain_twin_of(&self, other: &Self) -> bool {
        let same = (&self.family, self.seed, self.step) == (&other.family, other.seed, other.step);
        self.is_plain() && other.regulariser().is_some() && same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twin_differs_in_the_regulariser_alone() {
        let (run, family) = ("r".to_string(), "gpt2".to_string());
        let (cosine_penalty, mse_penalty, loss, fine_tuning) = (0.0, 0.0, None, None);
        let plain = Demo { run, family, seed: 1, step: 9, steps: 9, cosine_penalty, mse_penalty, loss, fine_tuning };
        let penalised = Demo { cosine_penalty: 0.2, ..plain.clone() };
        let by_distance = Demo { mse_penalty: 1.0, ..plain.clone() };
        assert!(plain.is_plain_twin_of(&penalised) && plain.is_plain_twin_of(&by_distance) && plain.is_complete());
        assert_eq!((plain.regulariser(), by_distance.regulariser()), (None, Some(("MSE", 1.0))));
        assert!(!penalised.is_plain_twin_of(&by_distance) && !by_distance.is_plain_twin_of(&penalised));
        assert_eq!(plain.checkpoint(), None);
        assert_eq!(Demo { step: 8, ..plain.clone() }.checkpoint().as_deref(), Some("step8"));
        assert!(!penalised.is_plain_twin_of(&plain) && !plain.is_plain_twin_of(&plain));
        let fine_tuning = Some(FineTuning { base: "r".into(), domain: "puzzles".into() });
        let tuned = Demo { fine_tuning, ..plain.clone() };
        assert!(!tuned.is_plain() && !plain.is_plain_twin_of(&tuned));
        for other in [Demo { seed: 2, ..penalised.clone() }, Demo { step: 8, ..penalised.clone() }] {
            assert!(!plain.is_plain_twin_of(&other), "{other:?}");
        }
    }

    #[test]
    fn the_index_is_read_with_and_without_its_optional_fields() {
        let json = r#"[
            {"name": "calibration", "title": "Calibration", "about": "Known.", "files": {"config.json": 300},
             "text": {"file": "text.txt"}, "expected": "expected.json"},
            {"name": "demo", "title": "Demo", "files": {}, "text": {"corpus": "tales:1"}}
        ]"#;
        let index: Vec<Bundled> = serde_json::from_str(json).unwrap();
        assert_eq!(index[0].text, DefaultText::File("text.txt".into()));
        assert_eq!(index[1].text, DefaultText::Corpus("tales:1".into()));
        assert_eq!((&index[1].expected, &index[1].demo), (&None, &None));
        assert_eq!(serde_json::from_str::<Vec<Bundled>>(&serde_json::to_string(&index).unwrap()).unwrap(), index);
    }
}
