//! The part of a measurement that is compared with other measurements: curves over blocks and layers, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fields::Field;
use crate::paired::{HeldOutWindows, MeasuredValue, PairedDifference};
use crate::report::{BlockReport, Interval, LayerReport, Report};

/// One value per block or layer, by its index; `None` where it is unknown.
pub type Curve = Vec<Option<f64>>;

/// The curves of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The model.
    pub name: String,
    /// Held-out perplexity.
    pub ppl: Option<f64>,
    /// Curves by [`Field::id`].
    #[serde(flatten)]
    pub curves: BTreeMap<String, Curve>,
    /// R² of the same blocks under other conditions, by the control's name in the report.
    pub controls: BTreeMap<String, Curve>,
    /// Influence of each held-out window on the values of a curve, by [`Field::id`] and place; optional.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub influence: BTreeMap<String, Vec<Vec<f64>>>,
    /// 95 % intervals of the values of a curve, by [`Field::id`] and place; optional.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, Vec<Option<Interval>>>,
    /// The windows that it was measured on, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heldout: Option<HeldOutWindows>,
    /// Training rows per input of a block's fit, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_input: Option<f64>,
}

impl Summary {
    /// Some curves of a model.
    pub fn of(name: String, curves: impl IntoIterator<Item = (Field, Curve)>) -> Self {
        let curves = curves.into_iter().map(|(field, curve)| (field.id().into(), curve)).collect();
        Self { name, curves, ..Self::default() }
    }

    /// The curves of a report; those of measures that it does not have are empty.
    pub fn new(report: &Report) -> Self {
        let blocks = |value: &dyn Fn(&BlockReport) -> Option<f64>| {
            curve(report.blocks.iter().map(|block| (block.block, value(block))))
        };
        let of = |field: Field| match field.is_by_layer() {
            true => curve(report.layers.iter().map(|layer| (layer.layer, field.of_layer(layer)))),
            false => blocks(&|block| field.of_block(block)),
        };
        let controls = report.blocks.iter().flat_map(|block| block.controls.keys());
        let control = |name: &String| {
            (name.clone(), blocks(&|block| block.controls.get(name).and_then(|control| control.r2_lin)))
        };
        let influence = |field: Field| {
            let name = field.line().interval;
            let of_block = |block: &BlockReport| block.influence.get(name).cloned();
            by_place(report, field, &of_block, &|layer| layer.influence.get(name).cloned())
        };
        let interval = |field: Field| {
            let of_block = |block: &BlockReport| field.interval(block).map(Some);
            by_place(report, field, &of_block, &|layer| field.interval_of_layer(layer).map(Some))
        };
        Self {
            ppl: report.ppl,
            controls: controls.map(control).collect(),
            influence: Field::charts().filter_map(influence).collect(),
            intervals: Field::charts().filter_map(interval).collect(),
            heldout: HeldOutWindows::of(report),
            rows_per_input: report.blocks.iter().find_map(|block| block.rows_per_input),
            ..Self::of(report.model.id.clone(), Field::charts().map(|field| (field, of(field))))
        }
    }

    /// A value of `other` minus the same value here, if both were measured on the same windows.
    pub fn difference(&self, other: &Self, field: Field, at: usize) -> Option<PairedDifference> {
        self.heldout.as_ref().filter(|heldout| other.heldout.as_ref() == Some(heldout))?;
        PairedDifference::new(self.estimate(field, at)?, other.estimate(field, at)?)
    }

    fn estimate(&self, field: Field, at: usize) -> Option<MeasuredValue<'_>> {
        let value = self.curve(field).get(at).copied().flatten()?;
        Some(MeasuredValue { value, influence: self.influence.get(field.id())?.get(at)? })
    }

    /// The 95 % interval of a value, if it is known.
    pub fn interval(&self, field: Field, at: usize) -> Option<Interval> {
        self.intervals.get(field.id())?.get(at).copied().flatten()
    }

    /// The curve of a field; empty where it was not measured.
    pub fn curve(&self, field: Field) -> &[Option<f64>] {
        self.curves.get(field.id()).map_or(&[], Vec::as_slice)
    }
}

/// What every block or layer has of a field, by place; `None` where none has anything.
fn by_place<T: Clone + Default>(
    report: &Report,
    field: Field,
    of_block: &dyn Fn(&BlockReport) -> Option<T>,
    of_layer: &dyn Fn(&LayerReport) -> Option<T>,
) -> Option<(String, Vec<T>)> {
    let found: Vec<(usize, T)> = match field.is_by_layer() {
        true => report.layers.iter().filter_map(|layer| Some((layer.layer, of_layer(layer)?))).collect(),
        false => report.blocks.iter().filter_map(|block| Some((block.block, of_block(block)?))).collect(),
    };
    let mut all = Vec::new();
    for (at, value) in found {
        all.resize(all.len().max(at + 1), T::default());
        all[at] = value;
    }
    (!all.is_empty()).then(|| (field.id().into(), all))
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
    use crate::report::{AppInfo, ControlReport, CorpusInfo, DeviceInfo, Header, LayerReport, ModelInfo, ProtocolInfo};

    fn report(blocks: Vec<BlockReport>, layers: Vec<LayerReport>) -> Report {
        let (model, corpus, device) = (ModelInfo::default(), CorpusInfo::default(), DeviceInfo::default());
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let ordered = Default::default();
        let header = Header { app: AppInfo::this(), model, corpus, protocol, device, ordered };
        Report { blocks, layers, ..Report::from(header) }
    }

    #[test]
    fn values_on_the_same_windows_have_a_difference_and_others_none() {
        let within = Interval { low: 0.25, high: 0.75 };
        let of = |r2: f64, sign: f64| {
            let noise = (0..12).map(|at| [0.02, -0.02][at % 2] * sign).collect();
            let influence = [("r2_lin".into(), noise)].into();
            let intervals = [("r2_lin".into(), within)].into();
            let block = BlockReport { block: 1, r2_lin: Some(r2), influence, intervals, ..Default::default() };
            let mut found = report(vec![block], Vec::new());
            found.corpus.sha256 = Some("text".into());
            found
        };
        let (a, b) = (of(0.5, 1.0), of(0.51, 1.0));
        let difference = |a: &Report, b: &Report, at| Summary::new(a).difference(&Summary::new(b), Field::R2Lin, at);
        let found = difference(&a, &b, 1).expect("a difference");
        assert!((found.amount - 0.01).abs() < 1e-12 && found.differs(), "{found:?}");
        assert!(!difference(&a, &of(0.51, -1.0), 1).expect("a difference").differs());
        assert_eq!(difference(&a, &b, 0), None, "not measured");
        let mut other = b.clone();
        other.corpus.sha256 = Some("other".into());
        assert_eq!(difference(&a, &other, 1), None);
        other.corpus.sha256 = None;
        assert_eq!(difference(&other, &other, 1), None, "it may be any text");
        let summary = Summary::new(&a);
        let interval = |field, at| summary.interval(field, at);
        assert_eq!([interval(Field::R2Lin, 1), interval(Field::R2Lin, 0)], [Some(within), None]);
        assert_eq!([interval(Field::Cosine, 1), interval(Field::R2Lin, 7)], [None; 2]);
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }

    #[test]
    fn layers_have_differences_too_and_not_those_of_blocks() {
        let noise = |sign: f64| -> Vec<f64> { (0..12).map(|at| [0.02, -0.02][at % 2] * sign).collect() };
        let of = |linearity: f64, sign: f64| {
            let influence = [("linearity_heldout".into(), noise(sign))].into();
            let layer = LayerReport { layer: 2, linearity_heldout: Some(linearity), influence, ..Default::default() };
            // Blocks have a number whose influences have the same name as one of layers.
            let influence = [("linearity_heldout".into(), noise(3.0)), ("r2_lin".into(), noise(1.0))].into();
            let block = BlockReport { block: 2, r2_lin: Some(0.5), influence, ..Default::default() };
            let mut found = report(vec![block], vec![layer]);
            found.corpus.sha256 = Some("text".into());
            Summary::new(&found)
        };
        let a = of(0.5, 1.0);
        let difference = |b: &Summary| a.difference(b, Field::LinearityHeldout, 2).expect("a difference");
        let found = difference(&of(0.51, 1.0));
        assert!((found.amount - 0.01).abs() < 1e-12 && found.differs(), "{found:?}");
        assert!(!difference(&of(0.51, -1.0)).differs());
        assert_eq!(a.influence.keys().collect::<Vec<_>>(), ["linearity_heldout", "r2_lin"]);
        assert_eq!(a.influence["linearity_heldout"][2], noise(1.0));
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
            BlockReport { block: 3, r2_lin: None, rows_per_input: Some(15.5), ..Default::default() },
        ];
        let layers = vec![LayerReport { layer: 0, linearity: Some(0.8), ..Default::default() }];
        let summary = Summary::new(&report(blocks, layers));
        assert_eq!(summary.curve(Field::R2Lin), [None, Some(0.9)]);
        assert_eq!(summary.curve(Field::Linearity), [Some(0.8)]);
        assert_eq!(summary.controls["gaussian"], [None, Some(0.5)]);
        assert_eq!(summary.rows_per_input, Some(15.5));
        for field in [Field::R2LinScalar, Field::DeltaPplLinear, Field::LinearityNoResidual] {
            assert!(summary.curve(field).is_empty(), "{field:?}");
        }
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }
}
