//! Healing: gradients against differences, frozen weights bit for bit, and the loss recovered by training.

mod common;

use std::rc::Rc;

use candle_core::Tensor;
use futures::executor::block_on;
use futures::{StreamExt, pin_mut};
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::{Backend, Shape};
use straightedge::corpus::{TokenWindows, Tokenizer};
use straightedge::event::{Event, Recorder, Stage};
use straightedge::job::{BackendChoice, Job, Measure, Protocol, Training};
use straightedge::model::{Linear, ModelConfig, ModelParts, Norm, load};
use straightedge::platform::random::Random;
use straightedge::probes;
use straightedge::replacement::device_map::DeviceMap;
use straightedge::replacement::probe::readout::Features;
use straightedge::replacement::probe::{Kind, Probe, Values};
use straightedge::replacement::replaced::{Replaced, ReplacedParts};
use straightedge::replacement::swap::Replacement;
use straightedge::report::{HealedTogether, Interval, Report, orders};
use straightedge::run::{Text, measure};
use straightedge::solve::AffineMap;
use straightedge::training::heal::{CpuModel, Healing, HealingText, LEARNING_RATE, Objective, WINDOWS};
use straightedge::weights::{Files, FolderFiles, Weights, read_whole};

const SEQ_LEN: usize = 32;
const DECODERS: [&str; 3] = ["tiny-gpt2", "tiny-gpt_neox", "tiny-llama"];

/// A reference decoder with windows of its text.
struct Patient {
    backend: CpuBackend,
    model: CpuModel,
    windows: TokenWindows,
}

impl Patient {
    fn new(name: &str, backend: CpuBackend) -> Self {
        let files: Rc<dyn Files> = Rc::new(FolderFiles::new(common::fixture(name)));
        block_on(async {
            let json = read_whole(&*files, "config.json", "").await.expect("config.json");
            let config = ModelConfig::from_json(&String::from_utf8_lossy(&json)).expect("a configuration");
            let weights = Weights::open(files.clone()).await.expect("weights");
            let model = load(&backend, &config, &weights, ModelParts::WithHead, &|_, _| ()).await.expect("a model");
            let tokenizer = read_whole(&*files, "tokenizer.json", "").await.expect("tokenizer.json");
            let text = std::fs::read(common::encyclopedia()).expect("a text");
            let ids = Tokenizer::from_json(&tokenizer).expect("a tokenizer").encode("text", &text).await.expect("ids");
            let protocol = Protocol { rows: 64 * SEQ_LEN, seq_len: SEQ_LEN, ..Protocol::default() };
            let windows = TokenWindows::new("text", ids, &protocol).expect("windows");
            Self { backend, model, windows }
        })
    }

    /// The input of `block` for the windows `which`.
    fn entering(&self, block: usize, which: std::ops::Range<usize>) -> HealingText {
        let entering = HealingText::new(&self.backend, &self.model, block, &self.windows, which);
        block_on(entering).expect("a text")
    }

    /// A random map unrelated to the block, with standardised inputs.
    fn damaged(&self) -> AffineMap {
        let (d, mut random) = (self.model.config.hidden_size, Random::new(1));
        let weight = (0..d * d).map(|_| 0.1 * random.normal()).collect();
        AffineMap { weight, mean_x: vec![0.0; d], deviation_x: vec![1.0; d], mean_y: vec![0.0; d], rank: d }
    }

    /// The network of block 1 and the whole layer 3 replaced by such maps.
    fn replaced(&self) -> ReplacedParts<Tensor> {
        let map = || Replacement::affine(&self.backend, &self.damaged()).expect("a map");
        [(1, Rc::new(Replaced::Network(map()))), (3, Rc::new(Replaced::Layer(map())))].into()
    }

    /// The network of block 1 replaced by a probe of random weights.
    fn probed(&self, kind: Kind) -> ReplacedParts<Tensor> {
        let (d, mut random) = (self.model.config.hidden_size, Random::new(2));
        let initial = kind.initial(d, d, &mut random);
        let network = initial.map(&mut |values: &Values| values.upload(&self.backend)).expect("a network");
        let features = Features::new(&self.backend, &network).expect("features");
        let rows = self.backend.upload("x", Shape::new(1, d), &vec![0.0; d]).expect("a row");
        let width = self.backend.shape(&features.of(&self.backend, &rows).expect("features")).cols;
        let weight = (0..width * d).map(|_| 0.1 * random.normal()).collect();
        let (mean_x, deviation_x, mean_y) = (vec![0.1; width], vec![0.5; width], vec![0.0; d]);
        let readout = AffineMap { weight, mean_x, deviation_x, mean_y, rank: width };
        let upload = |map: &AffineMap| DeviceMap::upload(&self.backend, map).expect("a map");
        let (map, readout) = (upload(&self.damaged()), upload(&readout));
        let probe = Probe { map, frozen_map: kind.has_frozen_map(), features, readout };
        [(1, Rc::new(Replaced::Network(Replacement::Probe(Box::new(probe)))))].into()
    }

    /// Bits of every weight.
    fn bits(&self, model: &CpuModel) -> Vec<u32> {
        let read = |tensor: &<CpuBackend as Backend>::Tensor| block_on(self.backend.read(tensor)).expect("a tensor");
        let mut values = read(&model.embedding.tokens);
        values.extend(model.embedding.positions.iter().flat_map(&read));
        let linear =
            |linear: &Linear<_>| [read(&linear.weight), linear.bias.as_ref().map(read).unwrap_or_default()].concat();
        let norm = |norm: &Norm<_>| match norm {
            Norm::Layer { weight, bias, .. } => [read(weight), read(bias)].concat(),
            Norm::Rms { weight, .. } => read(weight),
            Norm::Identity => Vec::new(),
        };
        for block in &model.blocks {
            let (attention, ffn) = (&block.attention, &block.ffn);
            let all = [&attention.q, &attention.k, &attention.v, &attention.o, &ffn.up, &ffn.down];
            values.extend(all.into_iter().chain(&ffn.gate).flat_map(&linear));
            values.extend([&block.attention_norm, &block.ffn_norm].into_iter().flat_map(norm));
        }
        values.extend(model.final_norm.iter().flat_map(norm));
        values.extend(model.head.iter().flat_map(&linear));
        values.into_iter().map(f32::to_bits).collect()
    }
}

/// In double precision, so that differences have more digits than the constants of candle's own derivatives.
#[test]
fn gradients_agree_with_central_differences_through_every_family() {
    for (name, probes) in DECODERS.into_iter().zip(Kind::ALL.as_chunks::<2>().0) {
        let patient = Patient::new(name, CpuBackend::oracle());
        let (backend, model, block) = (&patient.backend, &patient.model, 1);
        let text = patient.entering(block, 0..3);
        let map = patient.damaged();
        let [first, second] = probes.map(|kind| patient.probed(kind));
        let all = [
            Healing::linear(backend, model, block, &map),
            Healing::linear_adam(backend, model, block, &map),
            Healing::original(backend, model, block),
            Healing::together(backend, model, &patient.replaced(), Objective::Streams),
            Healing::together(backend, model, &patient.replaced(), Objective::Tokens),
            Healing::together(backend, model, &first, Objective::Tokens),
            Healing::together(backend, model, &second, Objective::Tokens),
        ];
        for healing in all {
            let healing = healing.expect("variables");
            let gradients = block_on(healing.gradients(&text, &[0, 2])).expect("gradients");
            assert!(gradients.len() >= 2, "{name}");
            for (which, (var, gradient)) in gradients.iter().enumerate() {
                // The gradient's direction, so that no rounding hides a wrong sign or scale.
                let size = gradient.sqr().and_then(|sqr| sqr.sum_all()).and_then(|sum| sum.to_scalar::<f64>());
                let size = size.expect("a number").sqrt();
                let start = var.as_detached_tensor().copy().expect("a copy");
                let loss_at = |t: f64| {
                    let moved = (&start + (gradient * (t / size)).expect("a step")).expect("a point");
                    var.set(&moved).expect("a variable");
                    block_on(healing.loss(&text, &[0, 2])).expect("a loss")
                };
                let step = 1e-3;
                let slope = (loss_at(step) - loss_at(-step)) / (2.0 * step);
                loss_at(0.0);
                let error = (slope - size).abs() / size;
                assert!(
                    error <= 1e-4,
                    "{name}, weight {which}: slope {slope} where the gradient has {size}, {error:.1e}"
                );
            }
        }
    }
}

#[test]
fn healing_a_damaged_block_lowers_the_loss_elsewhere_and_touches_nothing_frozen() {
    for name in DECODERS {
        let patient = Patient::new(name, CpuBackend::new());
        let (backend, model, block) = (&patient.backend, &patient.model, 2);
        let before = patient.bits(model);
        let (text, elsewhere) = (patient.entering(block, 0..48), patient.entering(block, 48..64));
        let all: Vec<usize> = (0..elsewhere.len()).collect();
        let mut healing = Healing::linear(backend, model, block, &patient.damaged()).expect("variables");
        let damaged = block_on(healing.loss(&elsewhere, &all)).expect("a loss");
        for windows in text.schedule(40, Random::new(3)) {
            assert_eq!(windows.len(), WINDOWS);
            block_on(healing.step(&text, &windows, 1e-3)).expect("a step");
        }
        let healed = block_on(healing.loss(&elsewhere, &all)).expect("a loss");
        println!("{name}: loss on other windows {damaged:.5} damaged, {healed:.5} healed");
        assert!(healed < damaged - 0.01, "{name}: {damaged} before and {healed} after");
        assert!(patient.bits(model) == before, "{name}: the model itself changed");
        assert!(patient.bits(&healing.model().expect("a model")) == before, "{name}: a frozen weight changed");

        let mut original = Healing::original(backend, model, block).expect("variables");
        block_on(original.step(&text, &[0, 1], LEARNING_RATE)).expect("a step");
        assert!(patient.bits(model) == before, "{name}: the original shares its trained weights with the model");
        let trained = patient.bits(&original.model().expect("a model"));
        let changed = trained.iter().zip(&before).filter(|(a, b)| a != b).count();
        assert!((1..=model.config.ffn_parameters()).contains(&changed), "{name}: {changed} weights changed");
    }
}

#[test]
fn maps_healed_together_come_closer_to_what_they_learn() {
    let patient = Patient::new("tiny-gpt2", CpuBackend::new());
    let (backend, model) = (&patient.backend, &patient.model);
    let (text, elsewhere) = (patient.entering(1, 0..48), patient.entering(1, 48..64));
    let all: Vec<usize> = (0..elsewhere.len()).collect();
    let [streams, tokens] = [Objective::Streams, Objective::Tokens].map(|objective| {
        let mut healing = Healing::together(backend, model, &patient.replaced(), objective).expect("variables");
        let error = |healing: &Healing| block_on(healing.stream_error(&elsewhere)).expect("an error");
        let loss = |healing: &Healing| block_on(healing.loss(&elsewhere, &all)).expect("a loss");
        let before = (loss(&healing), error(&healing));
        assert_eq!((before.0 == before.1, healing.first()), (objective == Objective::Streams, 1));
        for windows in text.schedule(40, Random::new(3)) {
            block_on(healing.step(&text, &windows, 1e-3)).expect("a step");
        }
        let after = (loss(&healing), error(&healing));
        println!("{objective:?}: {before:?} before, {after:?} after");
        assert!(after.0 < before.0 - 0.01, "{objective:?}: {before:?} before, {after:?} after");
        // Both maps have moved.
        let (parts, old) = (healing.parts().expect("parts"), patient.replaced());
        for (block, part) in &parts {
            let row =
                backend.upload("row", Shape::new(1, model.config.hidden_size), &vec![1.0; model.config.hidden_size]);
            let row = row.expect("a row");
            let of = |part: &Replaced<Tensor>| {
                let (Replaced::Network(map) | Replaced::Layer(map)) = part else { panic!("nothing is removed") };
                block_on(backend.read(&map.apply(backend, &row).expect("y"))).expect("values")
            };
            assert!(of(part) != of(&old[block]), "{objective:?}: block {block} stayed");
        }
        after
    });
    assert!(streams.1 < tokens.1, "what learns the streams has the smaller error: {streams:?} and {tokens:?}");
    // Nothing replaced is nothing missed.
    let nothing = Healing::together(backend, model, &ReplacedParts::new(), Objective::Streams).expect("nothing");
    assert_eq!(block_on(nothing.stream_error(&patient.entering(0, 0..2))).expect("an error"), 0.0);
}

#[test]
fn a_learning_rate_of_zero_changes_nothing() {
    let patient = Patient::new("tiny-gpt2", CpuBackend::new());
    let text = patient.entering(1, 0..8);
    let mut healing = Healing::original(&patient.backend, &patient.model, 1).expect("variables");
    let first = block_on(healing.step(&text, &[0, 3], 0.0)).expect("a step");
    let second = block_on(healing.step(&text, &[0, 3], 0.0)).expect("a step");
    assert_eq!(first, second);
    assert!(patient.bits(&healing.model().expect("a model")) == patient.bits(&patient.model));
}

#[test]
fn a_schedule_shows_every_window_before_any_comes_again() {
    let patient = Patient::new("tiny-gpt2", CpuBackend::new());
    let text = patient.entering(0, 0..20);
    let seen: Vec<usize> = text.schedule(5, Random::new(7)).concat();
    assert_eq!(seen.len(), 5 * WINDOWS);
    for epoch in seen.chunks(20) {
        let mut epoch = epoch.to_vec();
        epoch.sort_unstable();
        assert_eq!(epoch, (0..20).collect::<Vec<_>>());
    }
    assert_eq!(seen, text.schedule(5, Random::new(7)).concat(), "reproducible");
    assert_ne!(seen, text.schedule(5, Random::new(8)).concat());
    let in_order: Vec<usize> = text.in_order(6).concat();
    assert_eq!(in_order, (0..20).chain(0..4).collect::<Vec<_>>(), "four at a time, from the beginning again");
}

fn job(name: &str, steps: usize, blocks: &str, backend: BackendChoice) -> Job {
    Job {
        protocol: Protocol { rows: 4096, ..Protocol::default() },
        measures: [Measure::Fit, Measure::Heal].into(),
        blocks: Some(blocks.parse().expect("blocks")),
        training: Training { heal_steps: steps, ..Training::default() },
        backend,
        ..Job::new(name, "encyclopedia")
    }
}

/// All events of a measurement, to the end or until `enough`.
fn events(job: Job, enough: impl Fn(&Event) -> bool) -> Vec<Event> {
    let files: Rc<dyn Files> = Rc::new(FolderFiles::new(common::fixture(&job.model)));
    let text = Text::Plain(std::fs::read(common::encyclopedia()).expect("a text"));
    let stream = measure(job, files, text);
    pin_mut!(stream);
    let mut events = Vec::new();
    while let Some(event) = block_on(stream.next()) {
        let last = enough(&event);
        events.push(event);
        if last {
            break;
        }
    }
    events
}

fn report(events: &[Event]) -> Report {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    assert!(matches!(events.last(), Some(Event::Finished(_))), "{:?}", events.last());
    recorder.into_report().expect("a report")
}

#[test]
fn a_healed_map_costs_less_than_the_zero_shot_one() {
    let events = events(job("tiny-gpt2", 12, "1", BackendChoice::Cpu), |_| false);
    let report = report(&events);
    let heal = &report.blocks[0].heal;
    println!("tiny-gpt2, block 1, 12 steps: {heal:?}, {:.1} s", report.seconds.heal);
    let (before, after) = (heal["linear"].delta_ppl_before.expect("before"), heal["linear"].delta_ppl.expect("after"));
    assert!(after < 0.98 * before, "{after} after, {before} before");
    let original = heal["original"];
    assert!(original.delta_ppl_before.expect("a number").abs() <= 1e-6 * report.ppl.expect("ppl"), "{original:?}");
    assert!((heal["linear"].steps, original.steps) == (12, 12));
    // The same map, in the form in which the paper's code trains it.
    let adam = heal["linear_adam"];
    common::assert_close("before", adam.delta_ppl_before, before, 1e-4 * before);
    assert!(adam.delta_ppl.expect("after") < 0.99 * before && adam.delta_ppl != heal["linear"].delta_ppl, "{adam:?}");
    for curve in ["heal_linear", "heal_linear_adam", "heal_original"] {
        let points = &report.blocks[0].curves[curve];
        assert_eq!(points.len(), 12);
        assert!(points.iter().all(|point| point.value.is_some_and(|loss| loss > 0.0 && loss < 20.0)), "{points:?}");
    }
    // The cost is reported before the first step.
    let progress = |event: &Event| matches!(event, Event::Progress(p) if p.stage == Stage::Heal && p.total == 36);
    assert!(events.iter().position(progress) < events.iter().position(|event| matches!(event, Event::Curve(_))));
}

#[test]
fn probes_are_healed_where_they_are_trained_beside() {
    for (name, backend) in [("tiny-gpt2", BackendChoice::Cpu), ("tiny-llama", BackendChoice::Gpu)] {
        if backend == BackendChoice::Gpu && common::gpu().is_none() {
            continue;
        }
        let measures = [Measure::Fit, Measure::Swap, Measure::Probes, Measure::Heal].into();
        let training = Training { heal_steps: 8, probe_steps: 40, ..Training::default() };
        let protocol = Protocol { rows: 2048, ..Protocol::default() };
        let report = report(&events(Job { measures, training, protocol, ..job(name, 8, "1", backend) }, |_| false));
        let block = &report.blocks[0];
        for probe in probes::NAMES {
            let healed = block.heal[probe];
            println!("{name}, {probe}: {healed:?}");
            let swapped = block.delta_ppl[probe].expect("a change");
            let tolerance = 1e-4 * report.ppl.expect("ppl");
            common::assert_close(probe, healed.delta_ppl_before, swapped, tolerance);
            assert!(healed.delta_ppl.expect("after") < swapped - tolerance, "{name}, {probe}");
            assert_eq!((healed.steps, block.curves[&format!("heal_{probe}")].len()), (8, 8), "{name}, {probe}");
        }
        assert_eq!(block.heal.len(), 6, "{name}");
    }
}

/// In the last places of f32, in which another way of the same map is rounded.
fn assert_same_interval(what: &str, found: Option<Interval>, expected: Interval, tolerance: f64) {
    let found = found.unwrap_or_else(|| panic!("{what}: no interval"));
    assert!(expected.high > expected.low, "{what}: {expected:?}");
    common::assert_close(what, Some(found.low), expected.low, tolerance);
    common::assert_close(what, Some(found.high), expected.high, tolerance);
}

#[test]
fn a_map_that_is_not_healed_yet_has_the_interval_of_the_swap() {
    let measures = [Measure::Fit, Measure::Swap, Measure::Heal, Measure::HealTogether].into();
    let protocol = Protocol { rows: 4096, seq_len: 64, ..Protocol::default() };
    let job = Job { measures, blocks: None, protocol, ..job("tiny-gpt2", 0, "0", BackendChoice::Cpu) };
    let report = report(&events(job, |_| false));
    let tolerance = 1e-4 * report.ppl.expect("ppl");
    for block in &report.blocks {
        let swap = block.intervals["delta_ppl_linear"];
        assert!(swap.high - swap.low > 10.0 * tolerance, "{swap:?} against {tolerance}");
        for name in ["linear", "linear_adam"] {
            let heal = block.heal[name];
            assert_eq!((heal.steps, heal.delta_ppl), (0, heal.delta_ppl_before));
            assert_same_interval(&format!("block {}, {name}", block.block), heal.interval, swap, tolerance);
        }
        // The original without a step is the original.
        let own = block.heal["original"].interval.expect("an interval");
        assert!(own.low.abs() <= tolerance && own.high.abs() <= tolerance, "{own:?}");
    }
    assert_eq!(report.healed_together.len(), 2);
    for (order, healed) in &report.healed_together {
        let step = report.orders[order][healed.blocks.len() - 1].interval.expect("an interval");
        for learned in [HealedTogether::BEFORE, HealedTogether::STREAMS, HealedTogether::TOKENS] {
            let found = healed.intervals.get(learned).copied();
            assert_same_interval(&format!("{order}, {learned}"), found, step, tolerance);
        }
    }
}

#[test]
fn a_long_training_has_few_points_from_its_first_step_to_its_last() {
    let protocol = Protocol { rows: 512, seq_len: 8, ..Protocol::default() };
    let job = Job { protocol, ..job("tiny-gpt2", 200, "3", BackendChoice::Cpu) };
    let report = report(&events(job, |_| false));
    for curve in ["heal_linear", "heal_linear_adam", "heal_original"] {
        let steps: Vec<usize> = report.blocks[0].curves[curve].iter().map(|point| point.step).collect();
        assert!((20..=31).contains(&steps.len()) && steps.is_sorted_by(|a, b| a < b), "{curve}: {steps:?}");
        assert_eq!((steps[..3].to_vec(), steps.last()), (vec![0, 1, 2], Some(&199)), "{curve}");
    }
    assert_eq!(report.blocks[0].heal["linear"].steps, 200);
}

#[test]
fn half_of_the_blocks_and_of_the_layers_are_healed_together() {
    for (name, backend) in [("tiny-gpt2", BackendChoice::Cpu), ("tiny-llama", BackendChoice::Gpu)] {
        if backend == BackendChoice::Gpu && common::gpu().is_none() {
            continue;
        }
        let together = [Measure::Fit, Measure::HealTogether].into();
        let protocol = Protocol { rows: 2048, ..Protocol::default() };
        let job = Job { measures: together, blocks: None, protocol, ..job(name, 8, "0", backend) };
        let report = report(&events(job, |_| false));
        assert!(report.healed_together.keys().eq([orders::GREEDY_REFITTED, orders::LAYERS_LINEAR]), "{name}");
        for (order, healed) in &report.healed_together {
            println!("{name}, {order}: {healed:?}");
            let steps = &report.orders[order];
            let mut blocks: Vec<usize> = steps[..steps.len().div_ceil(2)].iter().map(|step| step.block).collect();
            blocks.sort_unstable();
            assert_eq!((&healed.blocks, healed.steps), (&blocks, 8), "{name}, {order}");
            // Before, it is the model of that step of the order.
            let step = steps[blocks.len() - 1].delta_ppl.expect("a loss");
            common::assert_close(order, healed.delta_ppl_before, step, 1e-4 * report.ppl.expect("ppl"));
            let before = (healed.delta_ppl_before.expect("before"), healed.stream_error_before.expect("before"));
            let loss = |learned| healed.delta_ppl[learned].expect("a loss");
            let error = |learned| healed.stream_error[learned].expect("an error");
            assert!(loss(HealedTogether::TOKENS) < before.0, "{name}, {order}");
            assert!(error(HealedTogether::STREAMS) < before.1, "{name}, {order}");
            assert!(error(HealedTogether::STREAMS) < error(HealedTogether::TOKENS), "{name}, {order}");
        }
        assert!(report.blocks.iter().all(|block| block.heal.is_empty()), "only what was asked for");
    }
}

#[test]
fn healing_stops_at_the_next_step_and_keeps_the_blocks() {
    let enough = |event: &Event| matches!(event, Event::Curve(curve) if curve.point.step == 1);
    let events = events(job("tiny-gpt2", 100_000, "1", BackendChoice::Cpu), enough);
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let report = recorder.into_report().expect("a report");
    assert!(report.partial && report.blocks[0].r2_lin.is_some() && report.blocks[0].curves["heal_linear"].len() == 2);
}

#[test]
fn a_model_on_the_gpu_heals_as_on_the_cpu() {
    if common::gpu().is_none() {
        return;
    }
    let on = |backend| events(job("tiny-llama", 3, "2", backend), |_| false);
    let [cpu, gpu] = [BackendChoice::Cpu, BackendChoice::Gpu].map(|backend| report(&on(backend)));
    assert_eq!(gpu.device.backend, "gpu");
    for name in ["linear", "linear_adam", "original"] {
        let expected = cpu.blocks[0].heal[name].delta_ppl.expect("a number");
        common::assert_close(name, gpu.blocks[0].heal[name].delta_ppl, expected, 1e-4 * cpu.ppl.expect("ppl"));
    }
}

#[test]
fn an_encoder_has_nothing_to_be_healed_with() {
    let events = events(job("tiny-bert", 5, "0", BackendChoice::Cpu), |_| false);
    let report = report(&events);
    assert!(report.warnings.iter().any(|warning| warning.code == "no_perplexity"));
    for name in ["linear", "original"] {
        assert_eq!((report.blocks[0].heal[name].delta_ppl, report.blocks[0].heal[name].steps), (None, 0));
    }
}
