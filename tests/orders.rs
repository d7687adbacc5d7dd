//! Blocks and layers replaced one after another: every order against an independent one that runs the whole model for
//! every candidate, and properties that hold for any model.

mod common;

use std::collections::BTreeMap;
use std::rc::Rc;

use common::fixture;
use futures::StreamExt;
use futures::executor::block_on;
use serde::Deserialize;
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::{OrderStep, Report, orders};
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::weights::FolderFiles;

/// Decoders whose reference has orders.
const DECODERS: [(&str, &str); 4] = [
    ("tiny-gpt2", "encyclopedia"),
    ("tiny-gpt_neox", "encyclopedia"),
    ("tiny-llama", "encyclopedia"),
    ("char-llama", "tales"),
];
const MEASURES: [Measure; 4] = [Measure::Swap, Measure::Greedy, Measure::Layers, Measure::Prune];
/// Relative to a perplexity.
const CLOSE: f64 = 1e-6;
/// The same for fits on the streams of `char-llama`: its few characters span few directions of the first layers, and
/// the others hold little but f32 rounding.
const CLOSE_OF_FEW: f64 = 2e-5;

fn measured((name, text): (&str, &str), backend: BackendChoice, rows: usize) -> Report {
    let job = Job {
        backend,
        measures: MEASURES.into(),
        protocol: Protocol { rows, ..Protocol::default() },
        ..Job::new(name, text)
    };
    let text = std::fs::read(fixture(format!("texts/{text}.txt"))).expect("a text");
    let inputs = Inputs::new(Rc::new(FolderFiles::new(fixture(name))), Text::Plain(text));
    let mut recorder = Recorder::default();
    block_on(measure_inputs(job, inputs).for_each(|event| {
        assert!(!matches!(event, Event::Failed(_)), "{event:?}");
        recorder.record(&event);
        async {}
    }));
    recorder.into_report().expect("a report")
}

#[derive(Deserialize)]
struct Expected {
    orders: BTreeMap<String, Vec<ExpectedStep>>,
}

#[derive(Deserialize)]
struct ExpectedStep {
    block: usize,
    ppl: f64,
}

#[test]
fn every_order_is_that_of_the_reference() {
    for of in DECODERS {
        let name = of.0;
        let json = std::fs::read_to_string(fixture(name).join("expected.json")).expect("a reference");
        let Expected { orders: expected } = serde_json::from_str(&json).expect("orders");
        assert_eq!(expected.len(), 5, "{name}");
        let report = measured(of, BackendChoice::Cpu, 15_000);
        assert_eq!(report.orders.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (order, steps) in &expected {
            let is_refitted = [orders::GREEDY_REFITTED, orders::LAYERS_LINEAR].contains(&&**order);
            let is_of_few = name == "char-llama" && is_refitted;
            let steps: Vec<_> = steps.iter().map(|ExpectedStep { block, ppl }| (*block, *ppl)).collect();
            let close = if is_of_few { CLOSE_OF_FEW } else { CLOSE };
            assert_steps(&format!("{name}, {order}"), &report.orders[order], &steps, close);
        }
    }
}

#[test]
fn every_order_on_a_gpu_is_that_on_the_cpu() {
    if common::gpu().is_none() {
        return;
    }
    let [cpu, gpu] =
        [BackendChoice::Cpu, BackendChoice::Gpu].map(|backend| measured(DECODERS[0], backend, 1280).orders);
    assert!(cpu.len() == 5 && gpu.keys().eq(cpu.keys()), "{:?}", gpu.keys());
    for (order, steps) in &cpu {
        let steps: Vec<_> = steps.iter().map(|step| (step.block, step.ppl.expect("a perplexity"))).collect();
        assert_steps(order, &gpu[order], &steps, CLOSE);
    }
}

/// Asserts that blocks are the same, and perplexities as `close` to each other.
fn assert_steps(what: &str, found: &[OrderStep], expected: &[(usize, f64)], close: f64) {
    let blocks: Vec<_> = found.iter().map(|step| step.block).collect();
    assert_eq!(blocks, expected.iter().map(|(block, _)| *block).collect::<Vec<_>>(), "{what}");
    for (found, (block, ppl)) in found.iter().zip(expected) {
        common::assert_close(&format!("{what}, block {block}"), found.ppl, *ppl, close * ppl);
    }
}

#[test]
fn first_and_last_steps_are_those_of_other_measures() {
    let backend = BackendChoice::Cpu;
    // Eleven held-out windows, enough for intervals.
    let report = measured(DECODERS[0], backend, 7040);
    let ppl = report.ppl.expect("a perplexity");
    let steps = |order: &str| -> &[OrderStep] { &report.orders[order] };
    let first = |order: &str| (steps(order)[0].block, steps(order)[0].delta_ppl.expect("a change"));
    let last = |order: &str| steps(order).last().and_then(|step| step.ppl).expect("a perplexity");
    let cheapest = |losses: Vec<Option<f64>>| {
        let losses = losses.into_iter().map(|loss| loss.expect("a loss")).enumerate();
        losses.min_by(|a, b| a.1.total_cmp(&b.1)).expect("blocks")
    };
    let close = |what: &str, found: (usize, f64), expected: (usize, f64)| {
        assert_eq!(found.0, expected.0, "{what} on {backend}");
        common::assert_close(&format!("{what} on {backend}"), Some(found.1), expected.1, 1e-9 * ppl);
    };
    let of_blocks = report.blocks.iter().map(|block| block.delta_ppl["linear"]).collect();
    close("cheapest block", first(orders::GREEDY), cheapest(of_blocks));
    // Before the first step there is nothing to fit on but the model's own rows.
    close("refitted", first(orders::GREEDY_REFITTED), first(orders::GREEDY));
    close("all blocks", (0, last(orders::GREEDY)), (0, last(orders::BY_COST)));
    for (order, loss) in [(orders::LAYERS_REMOVED, "removed"), (orders::LAYERS_LINEAR, "linear")] {
        let of_layers = report.layers.iter().map(|layer| layer.delta_ppl[loss]).collect();
        close(order, first(order), cheapest(of_layers));
    }
    // What is the same loss has the same interval.
    let same_interval = |order: &str, name: &str| {
        let step = steps(order)[0];
        let expected = match order {
            orders::LAYERS_REMOVED | orders::LAYERS_LINEAR => report.layers[step.block].intervals[name],
            _ => report.blocks[step.block].intervals[name],
        };
        let found = step.interval.unwrap_or_else(|| panic!("{order}: no interval"));
        assert!(expected.high > expected.low, "{order}: {expected:?}");
        for (found, expected) in [(found.low, expected.low), (found.high, expected.high)] {
            common::assert_close(order, Some(found), expected, 1e-9 * ppl);
        }
    };
    for order in [orders::BY_COST, orders::GREEDY, orders::GREEDY_REFITTED, orders::LAYERS_LINEAR] {
        same_interval(order, "delta_ppl_linear");
    }
    same_interval(orders::LAYERS_REMOVED, "delta_ppl_removed");
    for step in report.orders.values().flatten() {
        let (delta, interval) = (step.delta_ppl.expect("a change"), step.interval.expect("an interval"));
        assert!((interval.low..=interval.high).contains(&delta), "{step:?}");
    }
    let removed = steps(orders::LAYERS_REMOVED);
    assert_eq!(removed.len(), 4);
    // 64 wide: a layer has two norms, four products of attention and two of the network, with biases.
    let layer = 4 * 64 + 4 * (64 * 64 + 64) + 2 * 4 * 64 * 64 + 4 * 64 + 64;
    assert_eq!(removed[1].compression, Some(2.0));
    assert_eq!(removed[3].compression, None, "nothing is left");
    let linear = (4 * layer) as f64 / (4 * (64 * 64 + 64)) as f64;
    assert_eq!(steps(orders::LAYERS_LINEAR)[3].compression, Some(linear));
    for steps in report.orders.values() {
        for step in steps {
            let delta = step.ppl.expect("a perplexity") - ppl;
            common::assert_close("difference", step.delta_ppl, delta, 1e-12 * ppl);
        }
    }
}

#[test]
fn an_order_of_the_version_before_is_read_as_the_one_by_cost() {
    let mut json: serde_json::Value =
        serde_json::from_str(&measured(DECODERS[0], BackendChoice::Cpu, 1280).to_json()).expect("JSON");
    let fields = json.as_object_mut().expect("a report");
    let orders = fields.remove("orders").expect("orders");
    fields.insert("greedy".into(), orders["by_cost"].clone());
    let report = Report::from_json("old.json", &json.to_string()).expect("a report");
    let step = |at: usize| orders["by_cost"][at]["block"].as_u64().expect("a block") as usize;
    let found: Vec<usize> = report.orders[orders::BY_COST].iter().map(|step| step.block).collect();
    assert_eq!(found, [step(0), step(1), step(2), step(3)]);
    assert_eq!(report.orders.len(), 1);
}
