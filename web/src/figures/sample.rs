//! A recorded measurement with values of every kind, replayed for the tests of the figures.

use std::collections::BTreeMap;

use straightedge_api::event::{CurveEvent, Event, FinalResults, Recorder};
use straightedge_api::report::{
    BlockReport, ControlReport, CurvePoint, DegreePoint, HealReport, HealedTogether, LayerReport, OrderStep,
    ProbeReport, PropertyScore, Report, orders,
};

use crate::state::run::tests::recording;

/// The final report: three blocks, the last of them undefined.
pub(crate) fn report() -> Report {
    let mut recorder = Recorder::default();
    events().iter().for_each(|event| recorder.record(event));
    recorder.into_report().unwrap()
}

/// The recorded events.
pub(crate) fn events() -> Vec<Event> {
    let mut events = vec![recording().remove(1)];
    events.extend(
        [block_0(), block_1(), BlockReport { block: 2, ..Default::default() }].map(|b| Event::Block(Box::new(b))),
    );
    let points = [("sgd", 0, 0, -9.0), ("sgd", 0, 1, -2.0), ("sgd", 0, 100, 0.3), ("poly", 1, 20, 0.1)];
    events.extend(points.map(|(curve, block, step, value)| curve_event(curve, block, step, Some(value))));
    events.extend([
        curve_event("poly", 0, 20, Some(0.5)),
        curve_event("poly", 0, 40, None),
        curve_event("heal_linear", 0, 0, Some(3.5)),
        curve_event("heal_linear", 0, 200, Some(3.25)),
    ]);
    events.extend([layer(0, 0.95, 7.0), layer(1, 0.99, 2.0)].map(|layer| Event::Layer(Box::new(layer))));
    let step = |block, ppl, compression| OrderStep {
        block,
        ppl: Some(ppl),
        delta_ppl: Some(ppl - 20.0),
        compression: Some(compression),
        interval: None,
    };
    let order = |name: &str, steps| Event::Order { name: name.into(), steps };
    events.push(order(orders::BY_COST, vec![step(0, 20.5, 1.4), step(1, 23.0, 2.0)]));
    events.push(order(orders::GREEDY, vec![step(0, 20.5, 1.4), step(1, 22.0, 2.0)]));
    events.push(order(orders::LAYERS_REMOVED, vec![step(1, 24.0, 1.5)]));
    events.push(order(orders::LAYERS_LINEAR, vec![step(1, 26.0, 1.4)]));
    let healed = HealedTogether {
        blocks: vec![1],
        steps: 200,
        delta_ppl_before: Some(6.0),
        delta_ppl: map(&[(HealedTogether::STREAMS, Some(1.5)), (HealedTogether::TOKENS, None)]),
        stream_error_before: Some(0.5),
        stream_error: map(&[(HealedTogether::STREAMS, Some(0.25)), (HealedTogether::TOKENS, None)]),
        ..HealedTogether::default()
    };
    events.push(Event::HealedTogether { name: orders::LAYERS_LINEAR.into(), healed });
    events.push(Event::Finished(FinalResults { ppl: Some(20.0), ..Default::default() }));
    events
}

fn curve_event(curve: &str, block: usize, step: usize, value: Option<f64>) -> Event {
    Event::Curve(CurveEvent { block, curve: curve.into(), point: CurvePoint { step, value } })
}

fn map<T: Clone>(entries: &[(&str, T)]) -> BTreeMap<String, T> {
    entries.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

fn block_0() -> BlockReport {
    let losses = [
        ("linear", 0.5),
        ("mean", 4.0),
        ("zero", 8.0),
        ("rank_1", 3.0),
        ("rank_2", 1.0),
        ("rank_16", 0.5),
        ("poly", 0.4),
    ];
    let gaussian = ControlReport { r2_lin: Some(1.0), ..Default::default() };
    BlockReport {
        block: 0,
        r2_lin: Some(0.9),
        r2_lin_scalar: Some(0.95),
        r2_feature_median: Some(0.6),
        effective_rank: Some(2),
        r2_rank: [0.5, 0.85, 0.9, 0.9].map(Some).to_vec(),
        delta_ppl: map(&losses.map(|(name, value)| (name, Some(value)))),
        compression: map(&[("linear", Some(8.0))]),
        row_microseconds: map(&[("original", Some(2.5)), ("linear", Some(0.5))]),
        conjunction: Some(0.125),
        probes: map(&[(
            "poly",
            ProbeReport {
                r2: Some(0.91),
                gain: Some(0.01),
                gain_scalar: Some(0.008),
                cosine: Some(0.95),
                rmse: Some(0.25),
                steps: 40,
                parameters: 192,
                conjunction: None,
            },
        )]),
        degrees: degrees(),
        controls: map(&[("gaussian", gaussian), ("cross_feed", ControlReport { r2_lin: Some(-3.0), ..gaussian })]),
        heal: map(&[
            ("linear", heal(0.2, 0.5)),
            ("linear_adam", heal(0.25, 0.5)),
            ("poly", heal(0.3, 0.4)),
            ("original", heal(-0.3, 0.0)),
        ]),
        ..Default::default()
    }
}

fn heal(after: f64, before: f64) -> HealReport {
    HealReport { delta_ppl: Some(after), delta_ppl_before: Some(before), steps: 200, interval: None }
}

fn degrees() -> BTreeMap<String, Vec<DegreePoint>> {
    let of = |r2: [f64; 2]| {
        let points = [12, 16].into_iter().zip(r2);
        points.map(|(features, r2)| DegreePoint { features, r2: Some(r2) }).collect()
    };
    map(&[("2", of([0.9125, 0.925])), ("3", of([0.9125, 0.95])), ("4", of([0.9125, 0.9375]))])
}

fn block_1() -> BlockReport {
    BlockReport {
        block: 1,
        r2_lin: Some(-0.25),
        r2_lin_scalar: Some(0.1),
        r2_feature_median: Some(0.1),
        delta_ppl: map(&[("linear", Some(2.0)), ("mean", Some(1.5)), ("zero", Some(3.0))]),
        probes: map(&[("poly", ProbeReport { r2: Some(-0.22), gain: Some(0.03), steps: 20, ..Default::default() })]),
        controls: map(&[("gaussian", ControlReport::default())]),
        ..Default::default()
    }
}

fn layer(layer: usize, linearity: f64, removed: f64) -> LayerReport {
    LayerReport {
        layer,
        linearity: Some(linearity),
        linearity_heldout: Some(linearity - 0.01),
        linearity_no_residual: Some(0.4),
        update_norm_ratio: Some(0.3),
        anisotropy: Some(0.2),
        intrinsic_dimension: Some(9.0),
        properties: [("token".into(), PropertyScore { accuracy: Some(0.75), most_frequent: Some(0.5) })].into(),
        delta_ppl: map(&[("removed", Some(removed)), ("linear", Some(0.1))]),
        ..LayerReport::default()
    }
}
