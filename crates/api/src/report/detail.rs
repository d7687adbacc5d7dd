//! Detailed results of a block: controls, probes, healing, intervals; the spectrum of its inputs and sample predictions,
//! both reduced to what a chart can show, so that reports stay small.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Sampled ranks of a spectrum, spaced evenly in log k.
const PLACES: i32 = 48;

/// Eigenvalues of the training inputs at sampled ranks k, largest first (docs/measures.md, section 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// From 1 to the number of inputs that vary, ascending; includes the rank and rank + 1.
    pub k: Vec<usize>,
    /// The k-th largest eigenvalue of Cov(x) in raw units; null if rounding leaves none above zero.
    pub covariance: Vec<Option<f64>>,
    /// The same of the correlation matrix, which is cut at τ times the largest.
    pub correlation: Vec<Option<f64>>,
}

impl Spectrum {
    /// Significant digits of the values.
    pub const DIGITS: usize = 6;

    /// The k-th largest eigenvalues of both matrices, for every k of [`Spectrum::places`].
    pub fn new(k: Vec<usize>, covariance: &[f64], correlation: &[f64]) -> Self {
        let positive =
            |value: &f64| Some(*value).filter(|value| *value > 0.0).map(|value| rounded(value, Self::DIGITS));
        let [covariance, correlation] = [covariance, correlation].map(|values| values.iter().map(positive).collect());
        Self { k, covariance, correlation }
    }

    /// The sampled k of a spectrum of `count` eigenvalues, of which the correlation matrix keeps `rank`.
    pub fn places(count: usize, rank: usize) -> Vec<usize> {
        let spread = (0..=PLACES).map(|at| (count as f64).powf(f64::from(at) / f64::from(PLACES)).round() as usize);
        let all: BTreeSet<usize> = spread.chain([rank, rank + 1]).filter(|k| (1..=count).contains(k)).collect();
        all.into_iter().collect()
    }
}

/// Outputs y of the network and ŷ of its map at some held-out rows and features, minus the feature's training mean, in
/// units of its training standard deviation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// The network's y.
    pub actual: Vec<f64>,
    /// The map's ŷ for the same rows and features.
    pub predicted: Vec<f64>,
}

impl Scatter {
    /// Significant digits of the values.
    pub const DIGITS: usize = 4;

    /// Adds one pair, unless a value is not finite.
    pub fn push(&mut self, actual: f64, predicted: f64) {
        if actual.is_finite() && predicted.is_finite() {
            self.actual.push(rounded(actual, Self::DIGITS));
            self.predicted.push(rounded(predicted, Self::DIGITS));
        }
    }
}

/// `None` in place of NaN and infinities, which JSON cannot hold.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Significant digits of the influences of windows.
pub const INFLUENCE_DIGITS: usize = 4;

/// Rounds to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// The fit of a block under other conditions (docs/measures.md, section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlReport {
    /// Variance-weighted held-out R².
    pub r2_lin: Option<f64>,
    /// The same against one scalar mean.
    pub r2_lin_scalar: Option<f64>,
    /// Median over the output features.
    pub r2_feature_median: Option<f64>,
    /// Smallest k with r2_rank\[k\] ≥ 0.9 · r2_lin.
    pub effective_rank: Option<usize>,
}

/// A fine-tuned block (docs/measures.md, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealReport {
    /// Perplexity change against the untouched model, after healing.
    pub delta_ppl: Option<f64>,
    /// The same before.
    pub delta_ppl_before: Option<f64>,
    /// Steps taken.
    pub steps: usize,
    /// 95 % interval of `delta_ppl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// Networks or layers of a model that were made linear and whose maps were then fine-tuned together, in several ways
/// (docs/measures.md, section 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealedTogether {
    /// The blocks or layers, ascending.
    pub blocks: Vec<usize>,
    /// Training steps of each way.
    pub steps: usize,
    /// Perplexity change against the untouched model before healing.
    pub delta_ppl_before: Option<f64>,
    /// The same after healing, by what was learned: [`Self::STREAMS`] or [`Self::TOKENS`].
    pub delta_ppl: BTreeMap<String, Option<f64>>,
    /// Mean squared error of the streams on held-out windows, relative to the squared length of the untouched model's,
    /// before healing.
    pub stream_error_before: Option<f64>,
    /// The same after healing.
    pub stream_error: BTreeMap<String, Option<f64>>,
    /// 95 % intervals of `delta_ppl` by what was learned, and of `delta_ppl_before` as [`Self::BEFORE`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, Interval>,
}

impl HealedTogether {
    /// Towards the untouched model's residual streams.
    pub const STREAMS: &str = "streams";
    /// Towards the next tokens of the text.
    pub const TOKENS: &str = "tokens";
    /// Not healed yet, in `intervals`.
    pub const BEFORE: &str = "before";

    /// Adds the interval of a loss, if it is known.
    pub fn add_interval(&mut self, learned: &str, interval: Option<Interval>) {
        self.intervals.extend(interval.map(|interval| (learned.to_owned(), interval)));
    }
}

/// A trained probe of the residual (docs/measures.md, section 5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// Held-out R².
    pub r2: Option<f64>,
    /// r2 − r2_lin.
    pub gain: Option<f64>,
    /// The same difference of both R² against one scalar mean, as the paper has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_scalar: Option<f64>,
    /// Mean cosine of prediction and output over held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f64>,
    /// Root of the mean squared error over held-out rows and features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Training steps taken.
    pub steps: usize,
    /// Weights and biases.
    #[serde(default)]
    pub parameters: usize,
    /// Conjunction index of the probe.
    #[serde(default)]
    pub conjunction: Option<f64>,
}

/// A polynomial fitted in closed form (docs/measures.md, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DegreePoint {
    /// Features that it is linear in, the inputs included.
    pub features: usize,
    /// Held-out R².
    pub r2: Option<f64>,
}

/// A 95 % confidence interval (docs/measures.md, section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The 95 % interval of a number, and the influence of each held-out window on it, of at most 64 windows or groups of
/// neighbouring ones (docs/measures.md, section 2).
pub type Uncertainty = (Interval, Vec<f64>);

/// One point of a training curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Steps taken.
    pub step: usize,
    /// Value after these steps; null if it is not finite.
    pub value: Option<f64>,
}

/// One more block or layer replaced, in addition to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderStep {
    /// The block or layer.
    pub block: usize,
    /// Perplexity with everything up to this step replaced.
    pub ppl: Option<f64>,
    /// The same less that of the untouched model.
    pub delta_ppl: Option<f64>,
    /// Parameters of all networks, or of all layers, over those that are left.
    pub compression: Option<f64>,
    /// 95 % interval of `delta_ppl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spectrum_has_its_ends_its_rank_and_few_places_between() {
        let k = Spectrum::places(768, 700);
        assert!(k.len() < 60 && k.windows(2).all(|pair| pair[0] < pair[1]), "{k:?}");
        let values: Vec<f64> = k.iter().map(|k| if *k == 768 { -1e-17 } else { (768 - k) as f64 }).collect();
        let spectrum = Spectrum::new(k, &values, &values);
        for (k, value) in [(1, Some(767.0)), (700, Some(68.0)), (701, Some(67.0)), (768, None)] {
            let at = spectrum.k.iter().position(|place| *place == k).unwrap_or_else(|| panic!("{k}"));
            assert_eq!((spectrum.covariance[at], spectrum.correlation[at]), (value, value), "{k}");
        }
        assert_eq!(Spectrum::new(Spectrum::places(0, 0), &[], &[]), Spectrum::default());
    }

    #[test]
    fn places_are_rounded_and_those_without_a_number_left_out() {
        let mut scatter = Scatter::default();
        scatter.push(1.234_567, -0.000_123_456);
        scatter.push(f64::NAN, 1.0);
        assert_eq!(scatter, Scatter { actual: vec![1.235], predicted: vec![-0.000_123_5] });
    }
}
