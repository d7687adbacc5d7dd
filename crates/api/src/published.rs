//! Published values of a few models, for comparison with measurements. `web/data/published.json` holds them with their
//! source.

use std::collections::BTreeMap;

use crate::report::{ModelInfo, Report};
use serde::Deserialize;

/// The file's content.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Published {
    /// The paper.
    pub source: String,
    /// How its numbers were obtained.
    pub how: String,
    /// The models in it.
    pub models: Vec<PublishedModel>,
}

/// The published numbers of one model, by block.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PublishedModel {
    /// Name in the paper.
    pub name: String,
    /// Id on the hub.
    pub hub_id: String,
    /// `model_type`.
    pub architecture: String,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward network.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// R² against one scalar mean, by corpus; the survey's corpus first.
    pub r2_lin_scalar: BTreeMap<String, Vec<f64>>,
    /// ΔPPL of the linear swap.
    pub delta_ppl_linear: Vec<f64>,
    /// ΔPPL of the affine map plus bilinear probe.
    pub delta_ppl_poly: Vec<f64>,
    /// Median of R² over the features.
    pub r2_feature_median: Vec<f64>,
    /// Effective rank.
    pub effective_rank: Vec<usize>,
    /// Gain of the poly probe.
    pub poly_gain: Vec<f64>,
}

/// The corpus of the survey.
pub const SURVEY: &str = "WikiText-2";
/// The models of the paper, by its names.
pub const MODELS: [&str; 3] = ["gpt2", "pythia-160m", "llama-160m"];
/// Its corpora, the survey's first.
pub const CORPORA: [&str; 3] = [SURVEY, "Moby-Dick", "math puzzles"];

/// Whether the file may have values of this model, before it is fetched; the name decides then.
pub fn may_have(model: &ModelInfo) -> bool {
    let family = matches!(model.architecture.as_str(), "gpt2" | "gpt_neox" | "llama");
    family && (model.hidden_size, model.num_hidden_layers) == (768, 12)
}

impl Published {
    /// Whether the model identifier of a report names one of the paper's models.
    pub fn has(&self, id: &str) -> bool {
        self.models.iter().any(|model| model.is_called(id))
    }

    /// The published numbers of a report's model: same name, family and sizes.
    pub fn of(&self, report: &Report) -> Option<&PublishedModel> {
        self.models.iter().find(|published| published.is(&report.model))
    }
}

impl PublishedModel {
    fn is(&self, model: &ModelInfo) -> bool {
        let sizes = (model.hidden_size, model.num_hidden_layers) == (self.hidden_size, self.num_hidden_layers);
        let inner = model.intermediate_size.is_none_or(|inner| inner == self.intermediate_size);
        sizes && inner && model.architecture == self.architecture && self.is_called(&model.id)
    }

    /// Accepts a hub id with or without revision, a folder of that name, or the bare name.
    fn is_called(&self, id: &str) -> bool {
        let id = id.split('@').next().unwrap_or(id).trim_end_matches('/').to_lowercase();
        id == self.hub_id.to_lowercase() || id.rsplit('/').next() == Some(&self.name)
    }

    /// Its corpora, the survey's first.
    pub fn corpora(&self) -> Vec<String> {
        let others = self.r2_lin_scalar.keys().filter(|corpus| *corpus != SURVEY);
        std::iter::once(SURVEY).chain(others.map(String::as_str)).map(String::from).collect()
    }

    /// R² against one scalar mean on a corpus, by block.
    pub fn on(&self, corpus: &str) -> Vec<Option<f64>> {
        self.r2_lin_scalar.get(corpus).map_or(Vec::new(), |values| values.iter().copied().map(Some).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Published {
        serde_json::from_str(include_str!("../../../web/data/published.json")).unwrap()
    }

    fn model(id: &str, architecture: &str, layers: usize) -> ModelInfo {
        ModelInfo {
            id: id.into(),
            architecture: architecture.into(),
            hidden_size: 768,
            intermediate_size: Some(3072),
            num_hidden_layers: layers,
            ..Default::default()
        }
    }

    #[test]
    fn the_file_holds_what_the_text_of_the_paper_says() {
        let file = file();
        assert!(file.source.contains("2606.19379"));
        assert_eq!(file.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), MODELS);
        assert!(file.models.iter().all(|model| model.corpora() == CORPORA));
        let gpt2 = &file.models[0];
        assert_eq!(gpt2.on(SURVEY)[10], Some(0.671125));
        assert_eq!(gpt2.corpora(), ["WikiText-2", "Moby-Dick", "math puzzles"]);
        assert_eq!((gpt2.delta_ppl_linear[1], gpt2.effective_rank[1]), (1.059755, 1));
        let largest = file.models.iter().flat_map(|model| &model.poly_gain).copied().fold(0.0, f64::max);
        assert!((largest - 0.126).abs() < 5e-4, "{largest}");
        for model in &file.models {
            for values in model.r2_lin_scalar.values().chain([&model.delta_ppl_linear, &model.r2_feature_median]) {
                assert_eq!(values.len(), model.num_hidden_layers, "{}", model.name);
            }
        }
    }

    #[test]
    fn models_are_known_by_name_family_and_size() {
        let file = file();
        let found = |model: ModelInfo| {
            assert!(may_have(&model) || model.num_hidden_layers != 12 || model.architecture == "bert");
            file.models.iter().find(|published| published.is(&model)).map(|found| found.name.as_str())
        };
        assert_eq!(found(model("openai-community/gpt2@main", "gpt2", 12)), Some("gpt2"));
        assert_eq!(found(model("gpt2", "gpt2", 12)), Some("gpt2"));
        assert_eq!(found(model("EleutherAI/Pythia-160m", "gpt_neox", 12)), Some("pythia-160m"));
        assert_eq!(found(model("models/llama-160m/", "llama", 12)), Some("llama-160m"));
        assert_eq!(found(model("gpt2", "gpt2", 24)), None);
        assert_eq!(found(model("gpt2-finetuned", "gpt2", 12)), None);
        assert_eq!(found(model("gpt2", "bert", 12)), None);
    }
}
