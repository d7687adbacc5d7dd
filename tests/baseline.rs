//! The trained baseline, against an independent training in f64 and on rows with known results.

mod common;
#[path = "baseline/descent.rs"]
mod descent;

use common::planted::{Rows, WINDOW, assert_same_course, matrix, only, times};
use descent::Descent;
use straightedge::baseline::BaselineTraining;
use straightedge::job::{BackendChoice, Measure, Training};
use straightedge::platform::random::Random;
use straightedge::report::{BlockReport, CurvePoint, Report};

/// Rows whose inputs have deviations from 0.2 to 60, on all of which the `outputs` depend equally, with normal noise.
fn ill_conditioned(n: usize, inputs: usize, outputs: usize, noise: f64) -> Rows {
    let mut random = Random::new(13);
    let w = matrix(outputs, inputs, &mut random);
    let scales: Vec<f64> = (0..inputs).map(|j| 0.2 * 300f64.powf(j as f64 / (inputs - 1) as f64)).collect();
    let all = scales.clone();
    let x = move |random: &mut Random| all.iter().map(|scale| scale * (0.5 + random.normal())).collect();
    let mut rows = Rows::new(n, inputs, &mut random, x, move |x| {
        let own: Vec<f64> = x.iter().zip(&scales).map(|(x, scale)| x / scale).collect();
        times(&w, &own).iter().map(|y| 1.0 + y).collect()
    });
    let mut random = Random::new(14);
    rows.y.iter_mut().for_each(|y| *y += (noise * random.normal()) as f32);
    rows
}

fn trained(rows: &Rows, backend: BackendChoice, baseline_steps: usize) -> Report {
    rows.fit(backend, &[Measure::Baseline], Training { baseline_steps, ..Training::default() })
}

/// R² at the end of a training.
fn last(block: &BlockReport, training: BaselineTraining) -> f64 {
    block.curves[training.name()].last().and_then(|point| point.value).expect("a value")
}

#[test]
fn every_training_takes_the_course_of_an_independent_one_in_f64() {
    const STEPS: usize = 400;
    // 75 windows, 60 of which are for training: 7 batches of 256 rows, and a remainder that is left out.
    let rows = ill_conditioned(75 * WINDOW, 6, 3, 0.5);
    let report = trained(&rows, BackendChoice::Cpu, STEPS);
    for training in BaselineTraining::ALL {
        let name = training.name();
        let curve = &only(&report).curves[name];
        let steps: Vec<usize> = curve.iter().map(|point| point.step).collect();
        assert!(steps.len() > 20 && steps[0] == 0 && steps[steps.len() - 1] == STEPS, "{name}: {steps:?}");
        let expected = Descent::new(training, &rows, 60 * WINDOW).r2_at(&steps, STEPS);
        let mut worst = 0f64;
        for (point, expected) in curve.iter().zip(expected) {
            // The parameters of the engine are f32; a rounding is carried on and not magnified.
            let scale = f64::max(1.0, expected.abs());
            common::assert_close(&format!("{name} at {}", point.step), point.value, expected, 5e-5 * scale);
            worst = worst.max((point.value.expect("a value") - expected).abs() / scale);
        }
        println!("{name}: off by at most {worst:.1e}, at the end {}", last(only(&report), training));
    }
}

#[test]
fn trainings_fall_short_where_inputs_are_ill_conditioned() {
    const STEPS: usize = 16_000;
    let report = trained(&ill_conditioned(2400, 4, 4, 0.0), BackendChoice::Cpu, STEPS);
    let block = only(&report);
    let solved = block.r2_lin.expect("r2_lin");
    let [sgd, constant, cosine] = BaselineTraining::ALL.map(|training| last(block, training));
    println!("closed form {solved}, sgd {sgd}, adamw_constant {constant}, adamw {cosine}");
    assert!(solved > 0.999_99);
    assert!(sgd < solved - 0.1, "sgd: {sgd}");
    assert!((solved - cosine).abs() <= 1e-3, "adamw: {cosine}");
    let early = |point: &&CurvePoint| point.step <= 400;
    let early = block.curves["adamw_constant"].iter().rfind(early).and_then(|point| point.value);
    assert!(early.is_some_and(|r2| r2 < solved - 0.1), "adamw_constant after 400 steps: {early:?}");
    for training in BaselineTraining::ALL {
        let curve = &block.curves[training.name()];
        assert_eq!((curve[0].step, curve[curve.len() - 1].step), (0, STEPS));
        // Without noise the closed form is exact on all rows.
        assert!(curve.iter().all(|point| point.value.is_some_and(|r2| r2 <= solved + 1e-9)), "{training:?}");
    }
}

#[test]
fn the_closed_form_bounds_trained_maps_on_training_rows_and_not_on_others() {
    // 128 training rows for 48 inputs: the closed form fits the noise with all of them, the trainings with the large.
    let few = trained(&noisy(5 * WINDOW), BackendChoice::Cpu, 300);
    let block = only(&few);
    let solved = block.r2_lin.expect("r2_lin");
    for training in BaselineTraining::ALL {
        let value = last(block, training);
        println!("held-out: {} {value}, closed form {solved}", training.name());
        assert!(value > solved + 0.1, "{training:?}: {value} where the closed form has {solved}");
    }

    // All five folds are the same rows.
    let Rows { d, x, y } = noisy(5 * WINDOW);
    let same = Rows { d, x: x.repeat(5), y: y.repeat(5) };
    let same = trained(&same, BackendChoice::Cpu, 300);
    let block = only(&same);
    let solved = block.r2_lin.expect("r2_lin");
    let values: Vec<f64> = block.curves.values().flatten().map(|point| point.value.expect("a value")).collect();
    println!("on training rows: closed form {solved}, trained at most {:?}", values.iter().copied().reduce(f64::max));
    assert!(values.len() > 60 && values.iter().all(|value| *value <= solved + 1e-9), "{solved}: {values:?}");
}

/// 24 inputs of deviation 1 and as many of 1/100; four outputs that are a linear map of them, and as much noise.
fn noisy(n: usize) -> Rows {
    let mut random = Random::new(15);
    let w = matrix(4, 48, &mut random);
    let x = |random: &mut Random| (0..48).map(|j| if j < 24 { 1.0 } else { 0.01 } * random.normal()).collect();
    let mut rows = Rows::new(n, 48, &mut random, x, move |x| times(&w, x));
    let mut random = Random::new(16);
    rows.y.iter_mut().for_each(|y| *y += random.normal() as f32);
    rows
}

#[test]
fn the_baseline_is_the_same_on_the_gpu() {
    if common::gpu().is_none() {
        return;
    }
    let fit = |backend| trained(&ill_conditioned(1600, 6, 6, 0.0), backend, 60);
    let (cpu, gpu) = (fit(BackendChoice::Cpu), fit(BackendChoice::Gpu));
    for training in BaselineTraining::ALL {
        assert_same_course(training.name(), only(&gpu), only(&cpu), 1e-3);
    }
}
