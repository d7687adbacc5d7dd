//! The limit of the learning curve, on rows whose best map is known: how near it comes, and how often its error says so.

mod common;

use common::planted::{Rows, matrix, normal, only, times};
use straightedge::job::{BackendChoice, Measure, Training};
use straightedge::learning::LearningPoint;
use straightedge::platform::random::Random;
use straightedge::report::BlockReport;
use straightedge::solve::score_block;
use straightedge::stats::moments::{Moments, Scale};

const D_IN: usize = 24;
const D_OUT: usize = 8;
const WINDOW: usize = 8;
const FOLDS: usize = 5;
const REPETITIONS: usize = 60;

/// How the rows are drawn.
#[derive(Clone, Copy, Debug)]
struct Planted {
    /// Share of the variance of x that the rows of a window have in common.
    shared: f64,
    /// Scale of a term in x² − 1, which no affine map explains and which is larger for unusual rows.
    square: f64,
    /// Scale of the noise.
    noise: f64,
}

/// The report of planted rows, and R² of the best map on the held-out ones.
fn draw(planted: Planted, windows: usize, seed: u64) -> (BlockReport, f64) {
    let mut random = Random::new(seed);
    let mut matrix = || -> Vec<f64> { (0..D_IN * D_OUT).map(|_| random.normal() / (D_IN as f64).sqrt()).collect() };
    let (linear, square) = (matrix(), matrix());
    let (mut x, mut y, mut best) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..windows {
        let common: Vec<f64> = (0..D_IN).map(|_| random.normal()).collect();
        for _ in 0..WINDOW {
            let (own, all) = ((1.0 - planted.shared).sqrt(), planted.shared.sqrt());
            let row: Vec<f64> = common.iter().map(|common| own * random.normal() + all * common).collect();
            for j in 0..D_OUT {
                let at = |weight: &[f64], of: &dyn Fn(f64) -> f64| -> f64 {
                    row.iter().enumerate().map(|(i, x)| weight[i * D_OUT + j] * of(*x)).sum()
                };
                let affine = at(&linear, &|x| x);
                let rest = planted.square * at(&square, &|x| x * x - 1.0) + planted.noise * random.normal();
                y.push((affine + rest) as f32);
                best.push(affine);
            }
            x.extend(row.into_iter().map(|x| x as f32));
        }
    }
    let (scale_x, scale_y) = (Scale::from_rows(&x, D_IN), Scale::from_rows(&y, D_OUT));
    let start = |fold: usize| fold * windows / FOLDS * WINDOW;
    let folds: Vec<Moments> = (0..FOLDS)
        .map(|fold| {
            let mut moments = Moments::of_fold(&scale_x, &scale_y, fold, FOLDS);
            let rows = start(fold)..start(fold + 1);
            moments.add_rows(&x[rows.start * D_IN..rows.end * D_IN], &y[rows.start * D_OUT..rows.end * D_OUT]);
            moments
        })
        .collect();
    let from = start(FOLDS - 1) * D_OUT;
    let truth = 1.0 - squared_error(&y[from..], &best[from..]) / folds[FOLDS - 1].variance_y().iter().sum::<f64>();
    (score_block(0, &folds).expect("a solution").report, truth)
}

/// Sum over features of the mean squared error.
fn squared_error(y: &[f32], predicted: &[f64]) -> f64 {
    let squares: f64 = y.iter().zip(predicted).map(|(y, predicted)| (f64::from(*y) - predicted).powi(2)).sum();
    squares / (y.len() / D_OUT) as f64
}

#[test]
fn the_limit_is_that_of_the_best_map_within_its_error() {
    let independent = Planted { shared: 0.0, square: 0.0, noise: 0.9 };
    let curved = Planted { square: 0.5, ..independent };
    let correlated = Planted { shared: 0.4, ..curved };
    for (planted, rows_per_input) in
        [(independent, 12), (independent, 48), (curved, 16), (curved, 48), (correlated, 16), (correlated, 48)]
    {
        let windows = rows_per_input * D_IN / WINDOW * FOLDS / (FOLDS - 1);
        let (mut within, mut gap, mut bias) = (0, 0.0, 0.0);
        for seed in 0..REPETITIONS {
            let (report, truth) = draw(planted, windows, seed as u64);
            let (limit, error) = (report.r2_limit.expect("a limit"), report.r2_limit_error.expect("an error"));
            within += usize::from((limit - truth).abs() <= 2.0 * error);
            gap += (limit - truth) / REPETITIONS as f64;
            bias += (report.r2_lin.expect("R²") - truth) / REPETITIONS as f64;
        }
        let what = format!("{planted:?}, {rows_per_input} rows per input: bias {bias:.4}, of the limit {gap:.4}");
        println!("{what}, within two errors {within} of {REPETITIONS}");
        assert!(bias < -0.004, "{what}");
        assert!(gap.abs() <= 0.25 * bias.abs(), "{what}");
        assert!(within * 100 >= REPETITIONS * 90, "{what}: within two errors {within} of {REPETITIONS}");
    }
}

#[test]
fn the_curve_holds_the_fits_on_parts_of_the_training_folds() {
    let planted = Planted { shared: 0.0, square: 0.5, noise: 0.5 };
    let (report, _) = draw(planted, 90, 1);
    let sizes: Vec<_> = report.learning_curve.iter().map(|point| (point.rows, point.r2.len())).collect();
    assert_eq!(sizes, [(144.0, 2), (288.0, 1), (576.0, 1)]);
    assert_eq!(report.learning_curve[2].r2, [report.r2_lin]);
    assert_eq!(report.rows_per_input, Some(24.0));
    let means: Vec<f64> = report.learning_curve.iter().filter_map(LearningPoint::mean).collect();
    assert!(means.len() == 3 && means.is_sorted(), "{means:?}");
    assert!(report.rows_needed > Some(576.0), "{:?}", report.rows_needed);
    // Fewer than 1.5 rows per input in a quarter: no limit, and the halves are still told.
    let (few, _) = draw(planted, 20, 1);
    assert_eq!(few.learning_curve.len(), 2);
    assert_eq!((few.r2_limit, few.r2_limit_error, few.rows_needed), (None, None, None));
}

#[test]
fn few_rows_are_warned_of_and_so_many_as_the_warning_names_are_enough() {
    const OUTPUTS: usize = 64;
    // A sine of many turns is noise to an affine map.
    let fit = |n: usize| {
        let mut random = Random::new(3);
        let linear = matrix(OUTPUTS, D_IN, &mut random);
        let y = |x: &[f64]| {
            let noise = (0..OUTPUTS).map(|j| 2.0 * (1e3 * x[j % D_IN] * (j + 1) as f64).sin());
            times(&linear, x).into_iter().zip(noise).map(|(affine, noise)| affine + noise).collect()
        };
        let rows = Rows::new(n, D_IN, &mut random, normal(D_IN), y);
        rows.fit(BackendChoice::Cpu, &[Measure::Fit], Training::default())
    };
    let few = fit(480);
    let (report, warned) = (only(&few), few.warnings.iter().find(|warning| warning.code == "more_rows"));
    let text = &warned.expect("a warning").text;
    let bias = report.r2_limit.zip(report.r2_lin).map(|(limit, r2)| limit - r2).expect("a limit");
    let sentence =
        format!("block 0: R² is about {bias:.3} ± {:.3} below its limit", report.r2_limit_error.expect("an error"));
    assert!(text.starts_with(&sentence) && text.contains("at 16.0 training rows per input"), "{text}");
    let needed =
        text.rsplit_once(" rows it would be within 0.005").expect("rows").0.rsplit(' ').next().expect("a number");
    let needed: usize = needed.parse().expect(needed);
    assert!(needed > 480, "{text}");
    let enough = fit(needed);
    assert!(enough.warnings.iter().all(|warning| warning.code != "more_rows"), "{:?}", enough.warnings);
    let left = only(&enough).r2_limit.expect("a limit") - only(&enough).r2_lin.expect("R²");
    assert!(left < 0.0075 && left < bias / 2.0, "{left} where {bias} was: {text}");
}
