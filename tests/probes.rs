//! Probes and the conjunction index, on rows and models with known results.

mod common;

use std::path::Path;
use std::rc::Rc;

use common::backends;
use common::planted::{Rows, WINDOW, assert_same_course, finished, matrix, normal, only, times};
use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::{Backend, Shape};
use straightedge::event::Event;
use straightedge::job::{BackendChoice, Job, Measure, Training};
use straightedge::platform::random::Random;
use straightedge::replacement::probe::network::Network;
use straightedge::replacement::probe::{Kind, Values};
use straightedge::report::Report;
use straightedge::run::{self, RowsInputs, Text};
use straightedge::weights::{FolderFiles, MemoryFiles};

/// Every probe.
const BOTH: [Measure; 3] = [Measure::Fit, Measure::Probes, Measure::FurtherProbes];

/// An affine map plus a bilinear one of rank 4.
fn bilinear(n: usize, d: usize) -> Rows {
    products(n, d, 4, |u| u)
}

/// An affine map plus products of so many pairs of directions, with a gate on one of each pair.
fn products(n: usize, d: usize, rank: usize, gate: impl Fn(f64) -> f64) -> Rows {
    let mut random = Random::new(11);
    let (w, a, b) = (matrix(d, d, &mut random), matrix(rank, d, &mut random), matrix(rank, d, &mut random));
    let c = matrix(d, rank, &mut random);
    Rows::new(n, d, &mut random, normal(d), move |x| {
        let products: Vec<f64> = times(&a, x).iter().zip(times(&b, x)).map(|(u, v)| gate(*u) * v).collect();
        times(&w, x).iter().zip(times(&c, &products)).map(|(linear, more)| 3.0 + linear + 0.5 * more).collect()
    })
}

fn affine(n: usize, d: usize) -> Rows {
    let mut random = Random::new(12);
    let w = matrix(d, d, &mut random);
    Rows::new(n, d, &mut random, normal(d), move |x| times(&w, x).iter().map(|y| y - 2.0).collect())
}

fn probe_steps(probe_steps: usize) -> Training {
    Training { probe_steps, ..Training::default() }
}

#[test]
fn poly_recovers_a_bilinear_map() {
    let report = bilinear(8000, 12).fit(BackendChoice::Cpu, &[Measure::Fit, Measure::Probes], Training::default());
    let block = only(&report);
    let (there, poly) = (1.0 - block.r2_lin.expect("r2_lin"), &block.probes["poly"]);
    assert!(there > 0.1, "planted: {there}");
    let gain = poly.gain.expect("gain");
    assert!(gain >= 0.99 * there && gain <= there, "gain {gain} of {there} in {} steps", poly.steps);
    assert_eq!(poly.gain, poly.r2.map(|r2| r2 - block.r2_lin.expect("r2_lin")));
    // The same error less, as a share of the variance about one mean instead of one for each output.
    let variances = (1.0 - block.r2_lin_scalar.expect("scalar")) / (1.0 - block.r2_lin.expect("r2_lin"));
    assert!(variances < 0.99, "{variances}");
    common::assert_close("gain_scalar", poly.gain_scalar, gain * variances, 1e-9);
    assert_eq!(poly.parameters, 12 * 13 + 16 * 36);
    let within = block.intervals["gain_poly"];
    assert!(within.low < gain && gain < within.high && within.high - within.low < 0.5 * there, "{gain}: {within:?}");
    assert!(poly.cosine.expect("cosine") > block.cosine.expect("cosine"), "{poly:?}");
    // Both errors are over the same rows: their squares are as the shares of the variance that are left.
    let left = |r2: Option<f64>| 1.0 - r2.expect("R²");
    let expected = block.rmse.expect("rmse") * (left(poly.r2) / left(block.r2_lin)).sqrt();
    common::assert_close("rmse", poly.rmse, expected, 1e-9 * expected);
    let curve = &block.curves["poly"];
    assert_eq!(curve.last().map(|point| point.step), Some(poly.steps));
    assert!(curve[0].value < curve[curve.len() - 1].value, "{curve:?}");
    assert!(poly.conjunction.expect("conjunction") > 0.01, "products need both halves");
    // Layers without the map can do the same, in more steps or less accurately.
    let others = [&block.probes["dense2x"], &block.probes["poly2x"]];
    assert!(others.iter().all(|probe| probe.gain.is_some_and(|gain| gain > 0.5 * there)), "{others:?}");
}

/// The shares of what the map misses that two probes gain.
fn shares(report: &Report, probes: [&str; 2]) -> [f64; 2] {
    let block = only(report);
    let there = 1.0 - block.r2_lin.expect("r2_lin");
    assert!(there > 0.05, "planted: {there}");
    probes.map(|name| block.probes[name].gain.expect("gain") / there)
}

#[test]
fn more_products_are_found_by_a_higher_rank() {
    let report = products(8000, 12, 40, |u| u).fit(BackendChoice::Cpu, &BOTH, Training::default());
    let [few, many] = shares(&report, ["poly", "poly_rank64"]);
    assert!(few < 0.95 && many > 0.99, "{few} {many}");
}

#[test]
fn a_gate_finds_gated_products() {
    let gelu = |u: f64| 0.5 * u * (1.0 + (0.797_884_560_8 * (u + 0.044_715 * u.powi(3))).tanh());
    // Steep, so that the gate is not nearly a line.
    let rows = products(8000, 12, 4, |u| gelu(2.0 * u));
    let [poly, gate] = shares(&rows.fit(BackendChoice::Cpu, &BOTH, Training::default()), ["poly", "gate"]);
    assert!(poly < 0.75 && gate > 0.85, "{poly} {gate}");
}

#[test]
fn a_linear_part_trained_along_starts_at_the_map_and_loses_nothing() {
    let report = bilinear(8000, 12).fit(BackendChoice::Cpu, &BOTH, Training::default());
    let [poly, joint] = shares(&report, ["poly", "poly_joint"]);
    assert!(joint >= poly - 1e-3 && joint > 0.99, "{poly} {joint}");
    let block = only(&report);
    let (start, map) = (block.curves["poly_joint"][0].value.expect("R²"), block.r2_lin.expect("r2_lin"));
    // The products, which start at random, are about 1/27 of the variance of y; a random linear part would be a third.
    assert!((start - map).abs() < 0.15, "{start} {map}");
}

#[test]
fn further_probes_leave_the_others_as_they_are() {
    let fit = |measures: &[Measure]| bilinear(1600, 8).fit(BackendChoice::Cpu, measures, probe_steps(100));
    let (both, probes) = (fit(&BOTH), fit(&BOTH[..2]));
    let further = fit(&[Measure::Fit, Measure::FurtherProbes]);
    assert_eq!(only(&probes).probes.len() + only(&further).probes.len(), Kind::ALL.len());
    for report in [probes, further] {
        for (name, probe) in &only(&report).probes {
            assert_eq!(only(&both).probes[name], *probe, "{name}");
            assert_eq!(only(&both).curves[name], only(&report).curves[name], "{name}");
            assert!(only(&both).intervals.contains_key(&format!("gain_{name}")), "{name}");
        }
    }
}

#[test]
fn probes_take_the_same_course_on_the_gpu() {
    if common::gpu().is_none() {
        return;
    }
    let fit = |backend| bilinear(2400, 12).fit(backend, &BOTH, probe_steps(200));
    let (cpu, gpu) = (fit(BackendChoice::Cpu), fit(BackendChoice::Gpu));
    for kind in Kind::ALL {
        let name = kind.name();
        let (a, b) = (&only(&cpu).probes[name], &only(&gpu).probes[name]);
        assert_eq!(a.steps, b.steps);
        common::assert_close(&format!("{name}, r2"), b.r2, a.r2.expect("r2"), 1e-4);
        common::assert_close(&format!("{name}, conjunction"), b.conjunction, a.conjunction.expect("index"), 1e-4);
        assert_same_course(name, only(&gpu), only(&cpu), 1e-4);
    }
}

#[test]
fn an_affine_block_leaves_nothing_to_any_probe() {
    for backend in backends() {
        let report = affine(2400, 12).fit(backend, &BOTH, probe_steps(300));
        let block = only(&report);
        for kind in Kind::ALL {
            let probe = &block.probes[kind.name()];
            assert!(probe.gain.expect("gain") <= 1e-6, "{backend:?} {}: {probe:?}", kind.name());
        }
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_frozen_map()) {
            let probe = &block.probes[kind.name()];
            assert_eq!(probe.steps, 0, "rounding is not worth training");
            let (gain, index) = (probe.gain.expect("gain"), probe.conjunction.expect("conjunction"));
            assert!(gain >= -1e-6 && index <= 1e-6, "{}: {probe:?}", kind.name());
        }
        let unfinished =
            |probe: &str| report.warnings.iter().any(|w| w.code == "probe_steps" && w.text.contains(probe));
        assert!(unfinished("dense2x") && !unfinished("poly "), "{:?}", report.warnings);
    }
}

#[test]
fn early_stopping_does_not_look_at_held_out_rows() {
    let rows = bilinear(3200, 8);
    let mut other = bilinear(3200, 8);
    let heldout = 3200 / WINDOW * 4 / 5 * WINDOW * 8;
    other.y[heldout..].iter_mut().for_each(|y| *y = 1.0 - *y * *y);
    let fit = |rows: &Rows| rows.fit(BackendChoice::Cpu, &BOTH, probe_steps(700));
    let (a, b) = (fit(&rows), fit(&other));
    for kind in Kind::ALL {
        let name = kind.name();
        assert_eq!(only(&a).curves[name], only(&b).curves[name], "{name}");
        let (a, b) = (&only(&a).probes[name], &only(&b).probes[name]);
        assert_eq!((a.steps, a.conjunction), (b.steps, b.conjunction), "{name}: the same network");
        assert!(a.r2 != b.r2, "{name}: other rows to score on");
    }
}

#[test]
fn conjunction_is_zero_for_the_affine_calibration_block_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/models/calibration");
    let text = std::fs::read(folder.join("text.txt")).expect("its text");
    for backend in backends() {
        let mut job = Job::new("calibration", "calibration text");
        job.measures = [Measure::Conjunction].into();
        job.backend = backend;
        let report = finished(run::measure(job, Rc::new(FolderFiles::new(&folder)), Text::Plain(text.clone())));
        let found: Vec<Option<f64>> = report.blocks.iter().map(|block| block.conjunction).collect();
        assert!(found[0].is_some_and(|index| index <= 1e-6), "{backend:?}: {found:?}");
        assert!(found[1..].iter().any(|index| index.is_some_and(|index| index > 1e-3)), "{backend:?}: {found:?}");
    }
}

#[test]
fn measures_that_need_the_model_are_refused_for_rows() {
    let mut job = Job::new("planted", "planted");
    job.measures = [Measure::Fit, Measure::Swap].into();
    let events: Vec<Event> =
        block_on(run::fit(job, RowsInputs::new(Rc::new(MemoryFiles::default()), "rows")).collect());
    let [Event::Failed(error)] = &events[..] else { panic!("{events:?}") };
    assert!(error.to_string().starts_with("--measures: swap is not possible; it needs the model"), "{error}");

    let report = affine(1600, 6).fit(BackendChoice::Cpu, &[Measure::Conjunction], Training::default());
    assert_eq!(only(&report).conjunction, None);
    assert!(report.warnings.iter().any(|warning| warning.code == "no_network"), "{:?}", report.warnings);
}

/// Half the mean squared output, in f64 throughout.
fn loss(network: &Network<Values>, x: &Values, target: &Values) -> f64 {
    let cpu = CpuBackend::oracle();
    let network = network.map(&mut |values: &Values| values.upload(&cpu)).expect("upload");
    let (x, target) = (x.upload(&cpu).expect("x"), target.upload(&cpu).expect("target"));
    let traces = network.forward(&cpu, &x).expect("forward");
    let error = cpu.combine(&traces[traces.len() - 1].output, 1.0, &target, -1.0).expect("error");
    let error: Vec<f64> = error.flatten_all().and_then(|error| error.to_vec1()).expect("f64");
    0.5 * error.iter().map(|error| error * error).sum::<f64>()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let (n, d_in, d_out) = (5, 4, 3);
    for kind in Kind::ALL {
        let mut random = Random::new(14);
        let mut values = |rows, cols| {
            // Multiples of 2⁻⁸: adding 2⁻¹² is exact in f32.
            let data = (0..rows * cols).map(|_| (256.0 * random.normal()).round() as f32 / 256.0).collect();
            Values { shape: Shape::new(rows, cols), data }
        };
        let (x, target) = (values(n, d_in), values(n, d_out));
        let initial = kind.initial(d_in, d_out, &mut Random::new(15));
        let initial = initial.map(&mut |of: &Values| Ok(values(of.shape.rows, of.shape.cols))).expect("values");

        let cpu = CpuBackend::oracle();
        let network = initial.map(&mut |values: &Values| values.upload(&cpu)).expect("upload");
        let traces = network.forward(&cpu, &x.upload(&cpu).expect("x")).expect("forward");
        let error = cpu.combine(&traces[traces.len() - 1].output, 1.0, &target.upload(&cpu).expect("target"), -1.0);
        let ones = cpu.upload("ones", Shape::new(1, n), &vec![1.0; n]).expect("ones");
        let gradients = network.backward(&cpu, &traces, error.expect("error"), &ones).expect("backward");

        let mut found: Vec<Vec<f64>> = Vec::new();
        let mut take = |tensor: &_| {
            found.push(read(tensor));
            Ok(())
        };
        gradients.map(&mut take).expect("gradients");
        let mut checked = 0;
        for (parameter, gradient) in found.iter().enumerate() {
            for (element, &gradient) in gradient.iter().enumerate() {
                let step = 1.0 / 4096.0;
                let moved = |by: f32| {
                    let mut index = 0;
                    let network = initial.map(&mut |values: &Values| {
                        let mut values = values.clone();
                        if index == parameter {
                            values.data[element] += by;
                        }
                        index += 1;
                        Ok(values)
                    });
                    loss(&network.expect("moved"), &x, &target)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
                let difference = (gradient - slope).abs();
                assert!(
                    difference <= 1e-4 * (1.0 + slope.abs()),
                    "{kind:?} {parameter}[{element}]: {gradient} {slope}"
                );
                checked += 1;
            }
        }
        // The frozen map of `poly` has no gradient, its bias has.
        let frozen = if kind.has_frozen_map() { d_in * d_out } else { 0 };
        assert_eq!(checked, kind.parameters(d_in, d_out) - frozen, "{kind:?}");
    }
}

/// The elements of an oracle's tensor, unrounded.
fn read(tensor: &<CpuBackend as Backend>::Tensor) -> Vec<f64> {
    tensor.flatten_all().and_then(|tensor| tensor.to_vec1()).expect("f64")
}
