//! Polynomials of the inputs, on rows that are polynomials of a known degree.

mod common;

use std::ops::Range;

use common::backends;
use common::planted::{Rows, matrix, normal, only, times};
use straightedge::job::{BackendChoice, Measure, Training};
use straightedge::platform::random::Random;
use straightedge::report::{BlockReport, Report};

/// Inputs, of which `landmark_counts` makes 3, 6 … 768 landmarks.
const D: usize = 6;

/// An affine map plus products of so many factors, each a random direction.
fn planted(n: usize, factors: usize) -> Rows {
    let mut random = Random::new(21);
    let w = matrix(D, D, &mut random);
    let directions: Vec<_> = (0..factors).map(|_| matrix(D, D, &mut random)).collect();
    Rows::new(n, D, &mut random, normal(D), move |x| {
        let mut product = vec![1.0; D];
        for direction in &directions {
            product.iter_mut().zip(times(direction, x)).for_each(|(product, factor)| *product *= factor);
        }
        times(&w, x).iter().zip(product).map(|(linear, product)| 1.0 + linear + 0.5 * product).collect()
    })
}

fn degrees(rows: &Rows, backend: BackendChoice) -> Report {
    rows.fit(backend, &[Measure::Fit, Measure::Degrees], Training::default())
}

/// R² of a degree with the most features.
fn last(block: &BlockReport, degree: &str) -> f64 {
    block.degrees[degree].last().and_then(|point| point.r2).expect("R²")
}

#[test]
fn products_of_so_many_inputs_need_that_degree() {
    for backend in backends() {
        for factors in [2, 3] {
            let report = degrees(&planted(6400, factors), backend);
            let block = only(&report);
            let missed = 1.0 - block.r2_lin.expect("R²");
            assert!(missed > 0.05, "planted: {missed}");
            let [second, third, fourth] = ["2", "3", "4"].map(|degree| 1.0 - last(block, degree));
            assert!(third < 0.01 * missed && fourth < 0.05 * missed, "{third}, {fourth} of {missed}");
            if factors == 2 {
                assert!(second < 1e-3 * missed, "{second} of {missed}");
            } else {
                assert!(second > 0.5 * missed, "{second} of {missed}");
            }
            let points = &block.degrees["3"];
            assert_eq!((points[0].features, points.len()), (9, 9), "3 to 768 landmarks and the inputs");
            assert!(points[8].r2 > points[0].r2);
            common::assert_close("degree 1", Some(last(block, "1")), block.r2_lin.expect("R²"), 1e-4);
            assert_eq!(block.degrees["1"].len(), 1);
            assert!(report.warnings.iter().all(|warning| !warning.code.contains("degree")), "{:?}", report.warnings);
        }
    }
}

#[test]
fn the_ridge_curve_holds_fits_on_the_first_folds_and_on_all() {
    let rows = planted(800, 2);
    // Five folds of five windows.
    let fold = 160;
    let alone = |part: &Range<usize>| {
        let of =
            |values: &[f32]| [&values[part.start * fold * D..part.end * fold * D], &values[4 * fold * D..]].concat();
        let part = Rows { d: D, x: of(&rows.x), y: of(&rows.y) };
        let folds = part.x.len() / D / fold;
        let measures = [Measure::Fit, Measure::Degrees];
        last(only(&part.fit_in_folds(folds, BackendChoice::Cpu, &measures, Training::default())), "1")
    };
    let expected = [0..1, 1..2, 0..2, 0..4].each_ref().map(alone);
    assert!((expected[0] - expected[1]).abs() > 1e-3 && expected[0] < expected[3], "they differ: {expected:?}");
    for backend in backends() {
        let report = degrees(&rows, backend);
        let curve = &only(&report).ridge_curve;
        let sizes: Vec<_> = curve.iter().map(|point| (point.rows, point.r2.len())).collect();
        assert_eq!(sizes, [(160.0, 2), (320.0, 1), (640.0, 1)]);
        for (found, expected) in curve.iter().flat_map(|point| &point.r2).zip(expected) {
            common::assert_close("degree 1 of these rows alone", *found, expected, 1e-6);
        }
    }
}

#[test]
fn canonical_correlations_count_every_direction_the_same() {
    let rows = planted(1600, 2);
    let mut uneven = planted(1600, 2);
    // The first output has nearly all of the variance, and some of it is in all others.
    for y in uneven.y.chunks_mut(D) {
        y[0] *= 64.0;
        let first = y[0];
        y[1..].iter_mut().for_each(|y| *y += first);
    }
    for backend in backends() {
        let [even, uneven] = [&rows, &uneven].map(|rows| only(&degrees(rows, backend)).clone());
        let mean = even.canonical_r2_mean.expect("a mean");
        assert!(0.1 < mean && mean < 0.95, "{mean}");
        assert!((even.r2_lin.expect("R²") - uneven.r2_lin.expect("R²")).abs() > 1e-3, "another weighting");
        common::assert_close("their mean", uneven.canonical_r2_mean, mean, 1e-5);
        assert_eq!(uneven.effective_rank_whitened, even.effective_rank_whitened);
        assert!(even.effective_rank_whitened > Some(1) && uneven.effective_rank == Some(1), "{uneven:?}");
    }
}

#[test]
fn with_few_rows_there_is_degree_1_alone_and_a_warning() {
    let report = degrees(&planted(160, 2), BackendChoice::Cpu);
    assert_eq!(only(&report).degrees.keys().collect::<Vec<_>>(), ["1", "2", "3", "4"], "128 training rows");
    let mut wide = planted(160, 2);
    // 96 inputs, of which 90 are noise, and 128 training rows.
    let mut random = Random::new(4);
    let rows: Vec<f32> = wide.x.chunks(D).flat_map(|row| [row.to_vec(), noise(90, &mut random)].concat()).collect();
    (wide.x, wide.d) = (rows, 96);
    let report = degrees(&wide, BackendChoice::Cpu);
    assert_eq!(only(&report).degrees.keys().collect::<Vec<_>>(), ["1"]);
    let warning = report.warnings.iter().find(|warning| warning.code == "no_degrees").expect("a warning");
    let needed =
        "block 0: polynomials of degree 2 and more need 576 training rows, four for each feature, where there are 128";
    assert!(warning.text.starts_with(needed), "{}", warning.text);
}

fn noise(count: usize, random: &mut Random) -> Vec<f32> {
    (0..count).map(|_| random.normal() as f32).collect()
}

#[test]
fn powers_beyond_f32_leave_their_degree_undefined_and_the_rest_as_it_is() {
    let mut rows = planted(1600, 2);
    let last_row = rows.x.len() - D;
    rows.x[last_row..].fill(3e11);
    for backend in backends() {
        let report = degrees(&rows, backend);
        let block = only(&report);
        assert!(block.degrees["4"].iter().all(|point| point.r2.is_none()), "{:?}", block.degrees["4"]);
        assert!(block.degrees["1"][0].r2.is_some() && block.r2_lin.is_some());
        assert!(report.warnings.iter().any(|warning| warning.code == "degree_overflow"), "{:?}", report.warnings);
    }
}
