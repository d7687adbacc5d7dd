//! What was measured, how and on which device: the parts of a report that are known before the first block.

use std::collections::BTreeMap;
use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::job::{GramMode, Protocol};

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
            name: "straightedge".into(),
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

impl ModelInfo {
    /// What tells models apart: a hash that was compared since is the same hash.
    #[must_use]
    pub fn identity(&self) -> Self {
        Self { sha256_claimed: false, ..self.clone() }
    }

    /// Whether it is of a family that predicts no next token, and so has no perplexity.
    pub fn is_encoder(&self) -> bool {
        matches!(self.architecture.as_str(), "bert" | "roberta" | "distilbert" | "modernbert")
    }
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
    /// Whether windows were dealt to them in turn.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub interleaved_folds: bool,
    /// Positions left out at the start of every window.
    pub skip_positions: usize,
    /// Whether every window begins with the model's beginning-of-sequence token.
    #[serde(default, skip_serializing_if = "Not::not")]
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
            interleaved_folds: protocol.interleaved_folds,
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

impl From<&ProtocolInfo> for Protocol {
    /// The protocol that gives the same windows again.
    fn from(found: &ProtocolInfo) -> Self {
        Self {
            rows: found.rows,
            seq_len: found.seq_len,
            folds: found.folds,
            interleaved_folds: found.interleaved_folds,
            skip_positions: found.skip_positions,
            bos: found.bos,
            piece_chars: found.piece_chars,
            gram: found.gram,
            seed: found.seed,
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
