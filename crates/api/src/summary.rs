//! What of a measurement is compared with other measurements: curves over blocks and layers, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::report::{BlockReport, LayerReport, Report};

/// One value per block or layer, by its index; `None` where it is unknown.
pub type Curve = Vec<Option<f64>>;

/// What a curve is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Held-out R² of every block, one mean per feature.
    #[default]
    R2Lin,
    /// The same against one mean for all features.
    R2LinScalar,
    /// Change of perplexity with one block replaced by its map.
    DeltaPplLinear,
    /// How linear the step of the residual stream is at every layer, in-sample.
    Linearity,
    /// The same without the stream that is passed on.
    LinearityNoResidual,
    /// Median of R² over the output features of every block.
    R2FeatureMedian,
    /// Smallest rank that keeps nine tenths of R².
    EffectiveRank,
    /// What the bilinear probe adds to R².
    PolyGain,
    /// Change of perplexity with one block replaced by map and bilinear probe.
    DeltaPplPoly,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::R2Lin,
        Self::R2LinScalar,
        Self::DeltaPplLinear,
        Self::Linearity,
        Self::LinearityNoResidual,
        Self::R2FeatureMedian,
        Self::EffectiveRank,
        Self::PolyGain,
        Self::DeltaPplPoly,
    ];

    /// Name that stays: that of its field in [`Summary`].
    pub fn id(self) -> &'static str {
        match self {
            Self::R2Lin => "r2_lin",
            Self::R2LinScalar => "r2_lin_scalar",
            Self::DeltaPplLinear => "delta_ppl_linear",
            Self::Linearity => "linearity",
            Self::LinearityNoResidual => "linearity_no_residual",
            Self::R2FeatureMedian => "r2_feature_median",
            Self::EffectiveRank => "effective_rank",
            Self::PolyGain => "poly_gain",
            Self::DeltaPplPoly => "delta_ppl_poly",
        }
    }
}

/// The curves of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The model.
    pub name: String,
    /// Held-out perplexity.
    pub ppl: Option<f64>,
    /// [`Quantity::R2Lin`].
    pub r2_lin: Curve,
    /// [`Quantity::R2LinScalar`].
    pub r2_lin_scalar: Curve,
    /// [`Quantity::DeltaPplLinear`].
    pub delta_ppl_linear: Curve,
    /// [`Quantity::Linearity`].
    pub linearity: Curve,
    /// [`Quantity::LinearityNoResidual`].
    pub linearity_no_residual: Curve,
    /// [`Quantity::R2FeatureMedian`].
    #[serde(default)]
    pub r2_feature_median: Curve,
    /// [`Quantity::EffectiveRank`].
    #[serde(default)]
    pub effective_rank: Curve,
    /// [`Quantity::PolyGain`].
    #[serde(default)]
    pub poly_gain: Curve,
    /// [`Quantity::DeltaPplPoly`].
    #[serde(default)]
    pub delta_ppl_poly: Curve,
    /// R² of the same blocks under other conditions, by the control's name in the report.
    pub controls: BTreeMap<String, Curve>,
}

impl Summary {
    /// The curves of a report; those of measures that it does not have are empty.
    pub fn new(report: &Report) -> Self {
        let blocks = |value: &dyn Fn(&BlockReport) -> Option<f64>| {
            curve(report.blocks.iter().map(|block| (block.block, value(block))))
        };
        let layers = |value: fn(&LayerReport) -> Option<f64>| {
            curve(report.layers.iter().map(|layer| (layer.layer, value(layer))))
        };
        let controls = report.blocks.iter().flat_map(|block| block.controls.keys());
        let control = |name: &String| {
            (name.clone(), blocks(&|block| block.controls.get(name).and_then(|control| control.r2_lin)))
        };
        Self {
            name: report.model.id.clone(),
            ppl: report.ppl,
            r2_lin: blocks(&|block| block.r2_lin),
            r2_lin_scalar: blocks(&|block| block.r2_lin_scalar),
            delta_ppl_linear: blocks(&|block| block.delta_ppl.get("linear").copied().flatten()),
            linearity: layers(|layer| layer.linearity),
            linearity_no_residual: layers(|layer| layer.linearity_no_residual),
            r2_feature_median: blocks(&|block| block.r2_feature_median),
            effective_rank: blocks(&|block| block.effective_rank.map(|rank| rank as f64)),
            poly_gain: blocks(&|block| block.probes.get("poly").and_then(|probe| probe.gain)),
            delta_ppl_poly: blocks(&|block| block.delta_ppl.get("poly").copied().flatten()),
            controls: controls.map(control).collect(),
        }
    }

    /// The curve of a quantity; empty where it was not measured.
    pub fn curve(&self, quantity: Quantity) -> &[Option<f64>] {
        match quantity {
            Quantity::R2Lin => &self.r2_lin,
            Quantity::R2LinScalar => &self.r2_lin_scalar,
            Quantity::DeltaPplLinear => &self.delta_ppl_linear,
            Quantity::Linearity => &self.linearity,
            Quantity::LinearityNoResidual => &self.linearity_no_residual,
            Quantity::R2FeatureMedian => &self.r2_feature_median,
            Quantity::EffectiveRank => &self.effective_rank,
            Quantity::PolyGain => &self.poly_gain,
            Quantity::DeltaPplPoly => &self.delta_ppl_poly,
        }
    }
}

/// Values by their index up to the last known one, so that what was not measured is an empty curve.
fn curve(values: impl Iterator<Item = (usize, Option<f64>)>) -> Curve {
    let mut curve = Curve::new();
    for (at, value) in values.filter(|(_, value)| value.is_some()) {
        curve.resize(curve.len().max(at + 1), None);
        curve[at] = value;
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{AppInfo, ControlReport, CorpusInfo, DeviceInfo, Header, ModelInfo, ProtocolInfo};

    fn report(blocks: Vec<BlockReport>, layers: Vec<LayerReport>) -> Report {
        let (model, corpus, device) = (ModelInfo::default(), CorpusInfo::default(), DeviceInfo::default());
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let ordered = Default::default();
        let header = Header { app: AppInfo::this(), model, corpus, protocol, device, ordered };
        Report { blocks, layers, ..Report::from(header) }
    }

    #[test]
    fn curves_stand_at_their_indices_and_what_is_missing_is_empty() {
        let control = ControlReport { r2_lin: Some(0.5), ..ControlReport::default() };
        let blocks = vec![
            BlockReport {
                block: 1,
                r2_lin: Some(0.9),
                controls: [("gaussian".into(), control)].into(),
                ..Default::default()
            },
            BlockReport { block: 3, r2_lin: None, ..Default::default() },
        ];
        let layers = vec![LayerReport { layer: 0, linearity: Some(0.8), ..Default::default() }];
        let summary = Summary::new(&report(blocks, layers));
        assert_eq!(summary.curve(Quantity::R2Lin), [None, Some(0.9)]);
        assert_eq!(summary.curve(Quantity::Linearity), [Some(0.8)]);
        assert_eq!(summary.controls["gaussian"], [None, Some(0.5)]);
        for quantity in [Quantity::R2LinScalar, Quantity::DeltaPplLinear, Quantity::LinearityNoResidual] {
            assert!(summary.curve(quantity).is_empty(), "{quantity:?}");
        }
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }
}
