//! The report: what the command line writes, the page exports and opens, and `compare` reads (schema 1).
//!
//! Field names and formulas are those of docs/measures.md. Unknown values are `None`, with a warning that explains it;
//! NaN and infinities never appear ([`finite`]).

mod check;
mod detail;
mod ordered;
pub mod orders;
mod seconds;

use std::collections::BTreeMap;
use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::job::{GramMode, Protocol};
use crate::learning::{LearningLaw, LearningPoint};

pub use detail::{ControlReport, CurvePoint, HealReport, Interval, OrderStep, ProbeReport, Scatter, Spectrum};
pub use ordered::{Ordered, OtherInput};
pub use seconds::Seconds;

/// Schema number written by this version.
pub const SCHEMA: u32 = 1;

/// `None` in place of NaN and infinities, which JSON cannot hold.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A whole measurement with what is needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Schema number.
    pub schema: u32,
    /// Whether the measurement stopped before its end.
    pub partial: bool,
    /// When it began, in UTC, as `2026-11-25T02:34:05Z`; `None` in reports of earlier versions.
    #[serde(default)]
    pub date: Option<String>,
    /// Program that measured.
    pub app: AppInfo,
    /// Model measured.
    pub model: ModelInfo,
    /// Text measured on.
    pub corpus: CorpusInfo,
    /// Rows, folds and cut.
    pub protocol: ProtocolInfo,
    /// Device that computed it.
    pub device: DeviceInfo,
    /// Requested settings, the union of all orders; `None` in reports of earlier versions.
    #[serde(default)]
    pub ordered: Option<Ordered>,
    /// Perplexity of the untouched model on the held-out windows.
    pub ppl: Option<f64>,
    /// Per feed-forward block.
    pub blocks: Vec<BlockReport>,
    /// Per layer (docs/measures.md, section 7).
    #[serde(default)]
    pub layers: Vec<LayerReport>,
    /// Blocks or layers replaced one after another, by the names of [`orders`] (docs/measures.md, section 4).
    #[serde(default, alias = "greedy", deserialize_with = "orders::read")]
    pub orders: BTreeMap<String, Vec<OrderStep>>,
    /// Wall time by stage.
    pub seconds: Seconds,
    /// Peak bytes of the process, in a browser of the linear memory of engine and helper; `None` where the platform does
    /// not report it.
    #[serde(default)]
    pub peak_memory: Option<u64>,
    /// Caveats that belong with the numbers.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Reads an untrusted report; `file` names it in errors.
    pub fn from_json(file: &str, json: &str) -> Result<Self> {
        let malformed = |why: String| Error::MalformedReport { file: file.into(), why: check::shortened(why) };
        let report: Self = serde_json::from_str(json).map_err(|error| malformed(error.to_string()))?;
        report.check().map_err(malformed)?;
        Ok(report)
    }

    /// Checks what the types of an untrusted report leave open, and says what is wrong.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {}", self.schema));
        }
        let blocks: Vec<usize> = self.blocks.iter().map(|block| block.block).collect();
        let layers: Vec<usize> = self.layers.iter().map(|layer| layer.layer).collect();
        check::numbers(&blocks, &layers, self.model.num_hidden_layers)
    }

    /// The report as indented JSON.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a report is plain data");
        json.push('\n');
        json
    }
}

/// Program that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppInfo {
    /// `straightedge`.
    pub name: String,
    /// Package version.
    pub version: String,
    /// Commit it was built from, where known.
    pub commit: Option<String>,
}

impl AppInfo {
    /// This build.
    pub fn this() -> Self {
        Self {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: option_env!("STRAIGHTEDGE_COMMIT").map(Into::into),
        }
    }
}

/// Model measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Folder name, hub id or bundled name; the rows file for `fit`.
    pub id: String,
    /// Hub revision: the commit.
    pub revision: Option<String>,
    /// Requested training checkpoint: a name of the revision such as `step3000`, or the step of a
    /// bundled model; `None` where it is the model as it is.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// The model whose tokenizer was used in place of its own; a hub id is pinned to a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// `model_type` of config.json; `rows` for `fit`.
    pub architecture: String,
    /// Hash over the weight files in order of their names.
    pub sha256: Option<String>,
    /// Whether `sha256` is the hub's statement, not yet compared with whole files.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub sha256_claimed: bool,
    /// Storage format of the weights.
    pub dtype: Option<String>,
    /// Width of the residual stream; d_in for `fit`.
    pub hidden_size: usize,
    /// Width inside the feed-forward network.
    pub intermediate_size: Option<usize>,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Activation name.
    pub hidden_act: Option<String>,
    /// Weights and biases of one feed-forward network.
    pub ffn_parameters: Option<usize>,
    /// Rank of the inputs that the norm before them implies: d − 1 under LayerNorm, d under RMSNorm.
    #[serde(default)]
    pub expected_rank: Option<usize>,
    /// Vocabulary size.
    #[serde(default)]
    pub vocab_size: Option<usize>,
}

/// Text measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusInfo {
    /// File or bundled name.
    pub id: String,
    /// Hash of the text's bytes.
    pub sha256: Option<String>,
    /// Tokens of the text, of a long one those that were read.
    pub tokens: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The protocol as it was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolInfo {
    /// Rows run through the model: windows · seq_len.
    pub rows: usize,
    /// Windows used.
    pub windows: usize,
    /// Tokens per window.
    pub seq_len: usize,
    /// Folds.
    pub folds: usize,
    /// Positions left out at the start of every window.
    pub skip_positions: usize,
    /// Whether every window begins with the model's beginning-of-sequence token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bos: bool,
    /// Characters of the pieces that are tokenised each by itself; 0 takes the text as a whole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub piece_chars: usize,
    /// Rows of the fit, skipped positions excluded.
    pub train_rows: usize,
    /// Rows of the score, skipped positions excluded.
    pub heldout_rows: usize,
    /// Relative eigenvalue cut.
    pub tau: f64,
    /// Gram mode.
    pub gram: GramMode,
    /// Seed.
    pub seed: u64,
}

impl ProtocolInfo {
    /// The protocol of a job over `windows` windows of which `heldout_windows` are held out.
    pub fn new(protocol: &Protocol, windows: usize, heldout_windows: usize, tau: f64) -> Self {
        let kept = protocol.seq_len - protocol.skip_positions;
        Self {
            rows: windows * protocol.seq_len,
            windows,
            seq_len: protocol.seq_len,
            folds: protocol.folds,
            skip_positions: protocol.skip_positions,
            bos: protocol.bos,
            piece_chars: protocol.piece_chars,
            train_rows: (windows - heldout_windows) * kept,
            heldout_rows: heldout_windows * kept,
            tau,
            gram: protocol.gram,
            seed: protocol.seed,
        }
    }
}

/// Device that computed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// `gpu` or `cpu`.
    pub backend: String,
    /// Adapter name.
    pub adapter: Option<String>,
    /// Driver and version.
    pub driver: Option<String>,
    /// Adapter features in use.
    #[serde(default)]
    pub features: Vec<String>,
    /// Adapter limits by WebGPU name.
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
}

/// One feed-forward block (docs/measures.md, sections 2 to 5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockReport {
    /// Block index from 0.
    pub block: usize,
    /// Variance-weighted held-out R² of the affine map.
    pub r2_lin: Option<f64>,
    /// The same against one scalar mean.
    pub r2_lin_scalar: Option<f64>,
    /// Median of `r2_features`.
    pub r2_feature_median: Option<f64>,
    /// R² per output feature; `None` where the feature has no held-out variance.
    #[serde(default)]
    pub r2_features: Vec<Option<f64>>,
    /// R² with each fold held out in turn.
    #[serde(default)]
    pub r2_folds: Vec<Option<f64>>,
    /// Mean of `r2_folds`.
    pub r2_cv_mean: Option<f64>,
    /// Sample standard deviation of `r2_folds`.
    pub r2_cv_std: Option<f64>,
    /// 95 % intervals by resampling the held-out windows: `r2_lin`, `r2_lin_scalar`, `cosine`, and `delta_ppl_` with the
    /// name of a replacement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, Interval>,
    /// Training rows divided by inputs; `None` in reports of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_input: Option<f64>,
    /// Held-out R² of fits on parts of the training rows, ascending in their number, the whole last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learning_curve: Vec<LearningPoint>,
    /// R² that the learning curve approaches with many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_limit: Option<f64>,
    /// Standard error of `r2_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_limit_error: Option<f64>,
    /// Training rows from which R² is within 0.005 of `r2_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_needed: Option<f64>,
    /// Eigenvalues kept.
    pub rank: usize,
    /// λ_max / λ_min⁺ of the training Cov(x).
    pub condition: Option<f64>,
    /// The same of the correlation matrix.
    pub scaled_condition: Option<f64>,
    /// Eigenvalues of both; `None` in reports of earlier versions.
    #[serde(default)]
    pub spectrum: Option<Spectrum>,
    /// Sample predictions next to the actual values.
    #[serde(default)]
    pub scatter: Option<Scatter>,
    /// Smallest k with r2_rank\[k\] ≥ 0.9 · r2_lin.
    pub effective_rank: Option<usize>,
    /// Held-out R² of the rank-k map, k = 1 … d.
    #[serde(default)]
    pub r2_rank: Vec<Option<f64>>,
    /// (Σλ)²/Σλ² of the held-out Cov(y).
    pub output_participation: Option<f64>,
    /// The same of the held-out Cov(ŷ).
    pub prediction_participation: Option<f64>,
    /// The same of the training Cov(x).
    pub input_participation: Option<f64>,
    /// Largest training Var(y_j) over their median.
    pub output_variance_ratio: Option<f64>,
    /// The same for x.
    pub input_variance_ratio: Option<f64>,
    /// Mean cosine of ŷ and y over held-out rows.
    pub cosine: Option<f64>,
    /// Root mean squared held-out error, raw units.
    pub rmse: Option<f64>,
    /// Perplexity change by replacement: `linear`, `mean`, `zero`, `rank_K`, and the names of probes.
    #[serde(default)]
    pub delta_ppl: BTreeMap<String, Option<f64>>,
    /// Parameters of the network over those of its replacement, by replacement; null for one without parameters.
    #[serde(default)]
    pub compression: BTreeMap<String, Option<f64>>,
    /// Time per row on this device, in microseconds: `original`, and by replacement.
    #[serde(default)]
    pub row_microseconds: BTreeMap<String, Option<f64>>,
    /// Conjunction index of the network itself (section 5).
    #[serde(default)]
    pub conjunction: Option<f64>,
    /// Trained probes by name: `poly`, `dense2x`, `poly2x`.
    #[serde(default)]
    pub probes: BTreeMap<String, ProbeReport>,
    /// Training curves: validation R² of probes by their names, held-out R² of `sgd`, `adamw_constant`
    /// and `adamw`, mean negative log-likelihood on the training text of `heal_linear` and `heal_original`.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<CurvePoint>>,
    /// The same fit under other conditions (section 6): `first_position`, `shuffled`, `reinit_block`, `reinit_model`, `gaussian`,
    /// `cross_feed`, `cross_feed_matched`.
    #[serde(default)]
    pub controls: BTreeMap<String, ControlReport>,
    /// Recovery by fine-tuning: `linear` and `original` (section 4).
    #[serde(default)]
    pub heal: BTreeMap<String, HealReport>,
}

impl BlockReport {
    /// Sets mean and sample standard deviation of R² over the folds; both are undefined if R² of any fold is.
    pub fn summarise_folds(&mut self) {
        let known: Vec<f64> = self.r2_folds.iter().flatten().copied().collect();
        let is_complete = known.len() == self.r2_folds.len();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let squares: f64 = known.iter().map(|r2| (r2 - mean).powi(2)).sum();
        let deviation = (squares / (known.len() as f64 - 1.0)).sqrt();
        self.r2_cv_mean = finite(mean).filter(|_| is_complete);
        self.r2_cv_std = finite(deviation).filter(|_| is_complete);
    }

    /// Sets the learning curve and its limit.
    pub fn learn(&mut self, curve: Vec<LearningPoint>) {
        let law = LearningLaw::new(&curve, self.rank);
        self.learning_curve = curve;
        self.r2_limit = law.map(|law| law.limit);
        self.r2_limit_error = law.map(|law| law.error);
        self.rows_needed = law.and_then(|law| law.rows_needed());
    }

    /// The 95 % interval of the loss by a replacement, if it is known.
    pub fn loss_interval(&self, replacement: &str) -> Option<Interval> {
        self.intervals.get(&format!("delta_ppl_{replacement}")).copied()
    }

    /// Adds what `earlier`, an earlier measurement of the same block, knows and this one does not.
    pub fn complete_from(&mut self, earlier: &Self) {
        fn fill<T: Clone>(map: &mut BTreeMap<String, T>, earlier: &BTreeMap<String, T>) {
            for (name, value) in earlier {
                map.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self.cosine = self.cosine.or(earlier.cosine);
        self.scatter = self.scatter.take().or_else(|| earlier.scatter.clone());
        self.conjunction = self.conjunction.or(earlier.conjunction);
        fill(&mut self.intervals, &earlier.intervals);
        fill(&mut self.delta_ppl, &earlier.delta_ppl);
        fill(&mut self.compression, &earlier.compression);
        fill(&mut self.row_microseconds, &earlier.row_microseconds);
        fill(&mut self.probes, &earlier.probes);
        fill(&mut self.curves, &earlier.curves);
        fill(&mut self.controls, &earlier.controls);
        fill(&mut self.heal, &earlier.heal);
    }
}

/// One layer's residual stream (docs/measures.md, section 7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerReport {
    /// Layer index from 0.
    pub layer: usize,
    /// In-sample linearity of h_ℓ → h_{ℓ+1}.
    pub linearity: Option<f64>,
    /// The same fitted on training rows, scored on held-out ones.
    pub linearity_heldout: Option<f64>,
    /// In-sample linearity of h_ℓ → h_{ℓ+1} − h_ℓ.
    pub linearity_no_residual: Option<f64>,
    /// Mean over rows of ‖h_{ℓ+1} − h_ℓ‖ / ‖h_ℓ‖.
    pub update_norm_ratio: Option<f64>,
    /// Perplexity change: `removed`, `linear`.
    #[serde(default)]
    pub delta_ppl: BTreeMap<String, Option<f64>>,
}

/// A caveat of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable identifier.
    pub code: String,
    /// Block concerned.
    pub block: Option<usize>,
    /// One sentence.
    pub text: String,
}

/// Everything known before the first block is measured.
///
/// Measurements with equal model, corpus and protocol complete each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Program.
    pub app: AppInfo,
    /// Model.
    pub model: ModelInfo,
    /// Text.
    pub corpus: CorpusInfo,
    /// Protocol carried out.
    pub protocol: ProtocolInfo,
    /// Device.
    pub device: DeviceInfo,
    /// Requested settings.
    #[serde(default)]
    pub ordered: Ordered,
}

impl Report {
    /// Whether `header` begins another measurement of the same thing.
    pub fn is_continued_by(&self, header: &Header) -> bool {
        (&self.model, &self.corpus, &self.protocol) == (&header.model, &header.corpus, &header.protocol)
    }
}

impl From<Header> for Report {
    /// A partial report without blocks yet.
    fn from(header: Header) -> Self {
        let Header { app, model, corpus, protocol, device, ordered } = header;
        Self {
            schema: SCHEMA,
            partial: true,
            date: None,
            app,
            model,
            corpus,
            protocol,
            device,
            ordered: Some(ordered),
            ppl: None,
            blocks: Vec::new(),
            layers: Vec::new(),
            orders: BTreeMap::new(),
            seconds: Seconds::default(),
            peak_memory: None,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_with_more_blocks_than_any_model_is_refused() {
        let (model, corpus, device) = (ModelInfo::default(), CorpusInfo::default(), DeviceInfo::default());
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let ordered = Ordered::default();
        let plain = Report::from(Header { app: AppInfo::this(), model, corpus, protocol, device, ordered });
        let read = |report: &Report| Report::from_json("r.json", &report.to_json());
        assert_eq!(read(&plain).as_ref(), Ok(&plain));
        let (mut blocks, mut layers, mut depth) = (plain.clone(), plain.clone(), plain);
        blocks.blocks.push(BlockReport { block: usize::MAX, ..BlockReport::default() });
        layers.layers.push(LayerReport { layer: usize::MAX, ..LayerReport::default() });
        depth.model.num_hidden_layers = usize::MAX;
        for hostile in [blocks, layers, depth] {
            let refused = read(&hostile).expect_err("a refusal").to_string();
            assert!(refused.contains("r.json") && refused.contains("10000 blocks"), "{refused}");
        }
    }
}
