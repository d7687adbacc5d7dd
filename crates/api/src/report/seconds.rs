//! Durations of a measurement by stage.

use serde::{Deserialize, Serialize};

/// Wall time by stage, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading and uploading weights.
    pub load: f64,
    /// Tokenising.
    pub tokenize: f64,
    /// Forward passes and second moments, which run asynchronously together.
    pub forward: f64,
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
    /// Fitting polynomials.
    #[serde(default)]
    pub degrees: f64,
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
    /// The time of forward passes and second moments alone. `forward` includes the measures that blocks wait for; those
    /// of several measurements add up and may exceed it, so at least a tenth of it is left.
    pub fn of_rows(&self) -> f64 {
        let measures = [self.layers, self.conjunction, self.probes, self.degrees, self.baseline, self.controls]
            .iter()
            .sum::<f64>();
        (self.forward - measures).max(self.forward / 10.0)
    }

    /// The time of a measurement plus another one that extends it. Both include a pass over all blocks for the fit.
    /// Only the longer of the two passes counts; all other times are added.
    #[must_use]
    pub fn and(&self, more: &Self) -> Self {
        Self {
            load: self.load.max(more.load),
            tokenize: self.tokenize.max(more.tokenize),
            forward: self.forward.max(more.forward),
            solve: self.solve.max(more.solve),
            swap: self.swap + more.swap,
            layers: self.layers + more.layers,
            conjunction: self.conjunction + more.conjunction,
            probes: self.probes + more.probes,
            degrees: self.degrees + more.degrees,
            baseline: self.baseline + more.baseline,
            controls: self.controls + more.controls,
            heal: self.heal + more.heal,
            total: self.total + more.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Seconds;

    #[test]
    fn reports_that_told_second_moments_apart_are_read() {
        let seconds = r#"{"load": 1.0, "tokenize": 0, "forward": 2.5, "gram": 0.0, "solve": 0, "swap": 0, "total": 4}"#;
        let expected = Seconds { load: 1.0, forward: 2.5, total: 4.0, ..Seconds::default() };
        assert_eq!(serde_json::from_str::<Seconds>(seconds).ok(), Some(expected));
    }
}
