//! Durations of a measurement by stage.

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
    /// Accumulating second moments; 0 if it cannot be separated from `forward`.
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

impl Seconds {
    /// The time of a measurement plus another one that extends it. Both begin with a fit, of which only the longer one
    /// counts, as one pass over all blocks; all else adds up.
    #[must_use]
    pub fn and(&self, more: &Self) -> Self {
        Self {
            load: self.load.max(more.load),
            tokenize: self.tokenize.max(more.tokenize),
            forward: self.forward.max(more.forward),
            gram: self.gram.max(more.gram),
            solve: self.solve.max(more.solve),
            swap: self.swap + more.swap,
            layers: self.layers + more.layers,
            conjunction: self.conjunction + more.conjunction,
            probes: self.probes + more.probes,
            baseline: self.baseline + more.baseline,
            controls: self.controls + more.controls,
            heal: self.heal + more.heal,
            total: self.total + more.total,
        }
    }
}
