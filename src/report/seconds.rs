//! Where the time of a measurement went.

use serde::{Deserialize, Serialize};

/// Wall time by stage, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading and uploading weights.
    pub load: f64,
    /// Tokenising.
    pub tokenize: f64,
    /// Forward passes; on a GPU, where both run asynchronously, with the Gram matrices.
    pub forward: f64,
    /// Accumulating second moments; 0 where it cannot be told from `forward`.
    pub gram: f64,
    /// Solving and scoring.
    pub solve: f64,
    /// Swaps.
    pub swap: f64,
    /// Layers.
    #[serde(default)]
    pub layers: f64,
    /// Conjunction indices.
    #[serde(default)]
    pub conjunction: f64,
    /// Training and scoring probes.
    #[serde(default)]
    pub probes: f64,
    /// Training affine maps.
    #[serde(default)]
    pub baseline: f64,
    /// Controls.
    #[serde(default)]
    pub controls: f64,
    /// Healing.
    #[serde(default)]
    pub heal: f64,
    /// From start to report.
    pub total: f64,
}
