//! The results of one block and of one layer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::detail::{
    ControlReport, CurvePoint, DegreePoint, HealReport, Interval, ProbeReport, Scatter, Spectrum, Uncertainty, finite,
};
use crate::learning::{LearningLaw, LearningPoint};

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
    /// 95 % intervals by resampling the held-out windows: `r2_lin`, `r2_lin_scalar`, `cosine`, `effective_rank`,
    /// `delta_ppl_` with the name of a replacement, and `gain_` with that of a probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, Interval>,
    /// Influence of each held-out window on the same numbers but `effective_rank`, of at most 64 windows or groups of neighbouring ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub influence: BTreeMap<String, Vec<f64>>,
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
    /// Smallest k with r2_rank\[k\] ≥ 0.95 · r2_lin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_rank_95: Option<usize>,
    /// Smallest k whose k largest squared canonical correlations of ŷ and y hold 90 % of their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_rank_whitened: Option<usize>,
    /// Their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_r2_mean: Option<f64>,
    /// Held-out R² of the rank-k map, k = 1 … d.
    #[serde(default)]
    pub r2_rank: Vec<Option<f64>>,
    /// (Σλ)²/Σλ² of the held-out Cov(y).
    pub output_participation: Option<f64>,
    /// The same of the held-out Cov(ŷ).
    pub prediction_participation: Option<f64>,
    /// The same of the training Cov(x).
    pub input_participation: Option<f64>,
    /// exp of the entropy of the eigenvalues of the training Cov(x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_entropy_rank: Option<f64>,
    /// Σλ/λ_max of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_stable_rank: Option<f64>,
    /// exp of the entropy of the eigenvalues of the training Cov(ŷ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction_entropy_rank: Option<f64>,
    /// Σλ/λ_max of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction_stable_rank: Option<f64>,
    /// Mean squared Mahalanobis distance of held-out rows, relative to that of fresh rows of the training distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heldout_distance: Option<f64>,
    /// Share of their variance in directions that the fit leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heldout_outside: Option<f64>,
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
    /// Trained probes by their names in [`crate::probes`].
    #[serde(default)]
    pub probes: BTreeMap<String, ProbeReport>,
    /// R² of polynomials by degree, `1` to `4` (section 5).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub degrees: BTreeMap<String, Vec<DegreePoint>>,
    /// Held-out R² of degree 1 on the rows of the learning curve, which is by least squares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ridge_curve: Vec<LearningPoint>,
    /// Training curves: validation R² of probes by their names, held-out R² of `sgd`, `adamw_constant`
    /// and `adamw`, mean negative log-likelihood on the training text of `heal_linear`,
    /// `heal_linear_adam`, `heal_original` and `heal_` with the name of a probe.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<CurvePoint>>,
    /// The same fit under other conditions (section 6): `first_position`, `shuffled`, `reinit_block`, `reinit_model`, `gaussian`,
    /// `cross_feed`, `cross_feed_matched`.
    #[serde(default)]
    pub controls: BTreeMap<String, ControlReport>,
    /// Recovery by fine-tuning: `linear`, `linear_adam`, `original`, and probes by their names (section 4).
    #[serde(default)]
    pub heal: BTreeMap<String, HealReport>,
    /// Results that depend on a seed, one for each seed: `gain_` with the name of a probe, `r2_lin_` with that of a
    /// drawn control. All other fields are those of the first seed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seeds: BTreeMap<String, Vec<Option<f64>>>,
}

impl BlockReport {
    /// Sets mean and sample standard deviation of R² over the folds; both are undefined if R² of any fold is.
    pub fn summarise_folds(&mut self) {
        let [mean, deviation] = mean_and_deviation(&self.r2_folds);
        self.r2_cv_mean = mean;
        self.r2_cv_std = deviation;
    }

    /// Sample standard deviation over the seeds of `gain_` with the name of a probe or `r2_lin_` with that of a
    /// control; `None` for fewer than two seeds.
    pub fn seed_deviation(&self, name: &str) -> Option<f64> {
        let [_, deviation] = mean_and_deviation(self.seeds.get(name)?);
        deviation
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

    /// The 95 % interval of the gain of a probe, if it is known.
    pub fn gain_interval(&self, probe: &str) -> Option<Interval> {
        self.intervals.get(&format!("gain_{probe}")).copied()
    }

    /// Adds the interval of a number and the influence of each window on it, if they are known.
    pub fn add_uncertainty(&mut self, name: String, found: Option<Uncertainty>) {
        add_uncertainty(&mut self.intervals, &mut self.influence, name, found);
    }

    /// Adds fields that only `earlier`, an earlier measurement of the same block, has: those that are null or empty here, and
    /// names that a map lacks.
    pub fn complete_from(&mut self, earlier: &Self) {
        let (Ok(Value::Object(mut now)), Ok(Value::Object(earlier))) =
            (serde_json::to_value(&*self), serde_json::to_value(earlier))
        else {
            return;
        };
        for (field, value) in earlier {
            match (now.entry(field).or_insert(Value::Null), value) {
                (Value::Object(known), Value::Object(earlier)) => {
                    for (name, value) in earlier {
                        known.entry(name).or_insert(value);
                    }
                }
                (known @ Value::Null, value) => *known = value,
                (Value::Array(known), Value::Array(earlier)) if known.is_empty() => *known = earlier,
                _ => {}
            }
        }
        if let Ok(completed) = serde_json::from_value(Value::Object(now)) {
            *self = completed;
        }
    }
}

fn add_uncertainty(
    intervals: &mut BTreeMap<String, Interval>,
    influences: &mut BTreeMap<String, Vec<f64>>,
    name: String,
    found: Option<Uncertainty>,
) {
    if let Some((interval, influence)) = found {
        intervals.insert(name.clone(), interval);
        influences.insert(name, influence);
    }
}

/// Mean and sample standard deviation, both undefined if a value is.
fn mean_and_deviation(values: &[Option<f64>]) -> [Option<f64>; 2] {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (known.len() as f64 - 1.0)).sqrt();
    [mean, deviation].map(|value| finite(value).filter(|_| known.len() == values.len()))
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
    /// Share of the variance of h_ℓ in its first principal component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anisotropy: Option<f64>,
    /// Intrinsic dimension of h_ℓ on held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intrinsic_dimension: Option<f64>,
    /// Properties of tokens read out of h_{ℓ+1} by a linear map: `token`, `position`, `next_kind`, `sentence_end`,
    /// `person`, `place`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, PropertyScore>,
    /// Perplexity change: `removed`, `linear`.
    #[serde(default)]
    pub delta_ppl: BTreeMap<String, Option<f64>>,
    /// 95 % intervals by resampling the held-out windows: `linearity_heldout`, `reads_` with the name of a property, and
    /// `delta_ppl_removed` and `delta_ppl_linear`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, Interval>,
    /// Influence of each held-out window on the same numbers, as that of a block.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub influence: BTreeMap<String, Vec<f64>>,
}

impl LayerReport {
    /// Adds the interval of a number and the influence of each window on it, if they are known.
    pub fn add_uncertainty(&mut self, name: String, found: Option<Uncertainty>) {
        add_uncertainty(&mut self.intervals, &mut self.influence, name, found);
    }
}

/// How well a linear map of the residual stream names a property of the token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PropertyScore {
    /// Share of the held-out rows with the property whose class is named.
    pub accuracy: Option<f64>,
    /// The same if the training rows' most frequent class is always named.
    pub most_frequent: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::tests::full;

    #[test]
    fn a_block_takes_over_what_an_earlier_measurement_of_it_knows() {
        let earlier = full();
        let mut now = BlockReport {
            block: earlier.block,
            rank: earlier.rank,
            r2_lin: Some(-7.0),
            delta_ppl: [("linear".into(), None), ("mean".into(), Some(1.0))].into(),
            ..BlockReport::default()
        };
        now.complete_from(&earlier);
        assert_eq!((now.r2_lin, now.delta_ppl["linear"], now.delta_ppl["mean"]), (Some(-7.0), None, Some(1.0)));
        assert_eq!(now.delta_ppl["poly"], earlier.delta_ppl["poly"]);
        let rest = BlockReport { r2_lin: earlier.r2_lin, delta_ppl: earlier.delta_ppl.clone(), ..now };
        assert_eq!(rest, earlier);
    }
}
