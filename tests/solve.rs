//! The solver recovers planted maps over a range of condition numbers, cuts null directions, reports undefined results.

mod common;

use common::svd::{Fit, matrix};
use straightedge::platform::random::Random;
use straightedge::solve::{BlockScore, score_block};
use straightedge::stats::moments::{Moments, Scale};

const ROWS: usize = 2000;
const FOLDS: usize = 5;

/// Scores rows made by `row`, which returns x and y.
fn score(d_in: usize, d_out: usize, row: impl FnMut(&mut Random) -> (Vec<f64>, Vec<f64>)) -> BlockScore {
    let (x, y) = rows(row);
    score_rows(&x, d_in, &y, d_out)
}

/// All x and all y, row by row.
fn rows(mut row: impl FnMut(&mut Random) -> (Vec<f64>, Vec<f64>)) -> (Vec<f32>, Vec<f32>) {
    let (mut random, mut all) = (Random::new(7), (Vec::new(), Vec::new()));
    for (x, y) in (0..ROWS).map(|_| row(&mut random)) {
        all.0.extend(x.iter().map(|&x| x as f32));
        all.1.extend(y.iter().map(|&y| y as f32));
    }
    all
}

fn score_rows(x: &[f32], d_in: usize, y: &[f32], d_out: usize) -> BlockScore {
    assert_eq!((x.len(), y.len()), (ROWS * d_in, ROWS * d_out));
    let (scale_x, scale_y) = (Scale::from_rows(x, d_in), Scale::from_rows(y, d_out));
    let mut folds: Vec<Moments> = (1..=FOLDS).map(|fold| Moments::empty(&scale_x, &scale_y, fold == FOLDS)).collect();
    for (row, (x, y)) in x.chunks(d_in).zip(y.chunks(d_out)).enumerate() {
        folds[row * FOLDS / ROWS].add_row(x, y);
    }
    score_block(0, &folds).expect("a solution")
}

fn dense_map(d_in: usize, d_out: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(3);
    (0..d_in).map(|_| (0..d_out).map(|_| random.nearly_normal()).collect()).collect()
}

fn apply(weight: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    (0..weight[0].len()).map(|j| x.iter().zip(weight).map(|(x, row)| x * row[j]).sum::<f64>() + j as f64).collect()
}

#[test]
fn planted_maps_are_recovered_over_a_ladder_of_condition_numbers() {
    let (d, d_out, weight) = (12, 5, dense_map(12, 5));
    for exponent in 0..8 {
        let smallest = 10f64.powi(-exponent).sqrt();
        let (x, y) = rows(|random| {
            // Feature 1 is feature 0 but for a share of `smallest`; columns differ in mean and scale by decades.
            let mut x: Vec<f64> = (0..d).map(|_| random.nearly_normal()).collect();
            x[1] = x[0] + smallest * x[1];
            x.iter_mut().enumerate().for_each(|(j, x)| *x = (*x + 10.0 * j as f64) * 10f64.powi(j as i32 % 4 - 2));
            let x: Vec<f64> = x.iter().map(|&x| f64::from(x as f32)).collect();
            let y = apply(&weight, &x);
            (x, y)
        });
        let found = score_rows(&x, d, &y, d_out);
        let train = ROWS / FOLDS * (FOLDS - 1);
        let expected = Fit::new(matrix(&x[..train * d], d), matrix(&y[..train * d_out], d_out));
        let condition = expected.condition;
        assert!(condition > 0.3 * 10f64.powi(exponent) && condition < 1e3 * 10f64.powi(exponent), "{condition:e}");
        assert_eq!((found.report.rank, expected.rank), (d, d));
        // y is rounded to f32, so R² can miss 1 by 2⁻⁴⁸ of its magnitude over its variance.
        common::assert_close(&format!("condition {condition:e}: r2_lin"), found.report.r2_lin, 1.0, 1e-9);
        // The correlations have an f64 rounding error each, which their condition amplifies to at most this: measured
        // are 0.7 of it for the weights and 1.4 for the condition itself.
        let allowed = 16.0 * f64::EPSILON * condition;
        let what = format!("condition {condition:e}");
        common::assert_close(&what, found.report.scaled_condition, condition, allowed * condition);
        for (i, deviation_x) in expected.deviation_x.iter().enumerate() {
            for (j, deviation_y) in found.deviation_y.iter().enumerate() {
                // For inputs and outputs with deviation 1.
                let weight = found.map.weight[i * d_out + j] * deviation_x / deviation_y;
                let expected = expected.weight[(i, j)] / deviation_y;
                common::assert_close(&format!("{what}, weight {i}, {j}"), Some(weight), expected, allowed);
                assert!(allowed < 1e-2 * expected.abs(), "{what}: {allowed:e} hides a hundredth of {expected:e}");
            }
        }
    }
}

#[test]
fn a_null_direction_and_a_constant_column_are_cut() {
    let weight = dense_map(8, 3);
    let found = score(8, 3, |random| {
        let mut x: Vec<f64> = (0..8).map(|_| random.nearly_normal()).collect();
        // As after a LayerNorm: the first seven sum to zero but for rounding. The eighth is constant.
        let mean = x[..7].iter().sum::<f64>() / 7.0;
        x[..7].iter_mut().for_each(|x| *x -= mean);
        x[7] = 5.0;
        let y = apply(&weight, &x).into_iter().map(|y| y + random.nearly_normal()).collect();
        (x, y)
    });
    assert_eq!(found.report.rank, 6);
    assert!(found.report.scaled_condition.expect("a condition") < 10.0);
    assert!(found.report.condition.expect("a condition") < 10.0);
    assert!(found.map.weight[7 * 3..].iter().all(|&weight| weight == 0.0), "weights of a constant column");
}

#[test]
fn the_bias_restores_the_means() {
    let weight = dense_map(4, 2);
    let found = score(4, 2, |random| {
        let x: Vec<f64> = (0..4).map(|j| random.nearly_normal() + 100.0 * j as f64).collect();
        let y = apply(&weight, &x);
        (x, y)
    });
    for (j, bias) in found.map.bias().into_iter().enumerate() {
        common::assert_close("bias", Some(bias), j as f64, 1e-3);
    }
}

#[test]
fn a_map_of_rank_three_has_effective_rank_three_at_most() {
    let (into, out) = (dense_map(10, 3), dense_map(3, 6));
    let found = score(10, 6, |random| {
        let x: Vec<f64> = (0..10).map(|_| random.nearly_normal()).collect();
        let y = apply(&out, &apply(&into, &x)).into_iter().map(|y| y + 0.1 * random.nearly_normal()).collect();
        (x, y)
    });
    let report = found.report;
    assert!(report.effective_rank.expect("an effective rank") <= 3, "{:?}", report.effective_rank);
    assert_eq!(report.r2_rank.len(), 6);
    common::assert_close("r2 of rank 3", report.r2_rank[2], report.r2_lin.expect("r2"), 1e-4);
    common::assert_close("r2 of full rank", report.r2_rank[5], report.r2_lin.expect("r2"), 1e-12);
    assert!(report.r2_rank[0] < report.r2_rank[1] && report.r2_rank[1] < report.r2_rank[2]);
}

#[test]
fn noise_has_an_r2_below_zero_and_no_effective_rank() {
    let report = score(6, 4, |random| {
        ((0..6).map(|_| random.nearly_normal()).collect(), (0..4).map(|_| random.nearly_normal()).collect())
    })
    .report;
    assert!(report.r2_lin.is_some_and(|r2| r2 < 0.0 && r2 > -0.05), "{:?}", report.r2_lin);
    assert_eq!(report.effective_rank, None);
}

#[test]
fn an_output_that_never_varies_has_no_r2() {
    let report = score(3, 2, |random| ((0..3).map(|_| random.nearly_normal()).collect(), vec![0.0, 2.5])).report;
    assert_eq!(report.r2_lin, None);
    assert_eq!(report.r2_features, [None, None]);
    assert_eq!(report.r2_feature_median, None);
    assert_eq!(report.effective_rank, None);
    // The variance between the two constants counts about one scalar mean, and all of it is explained.
    common::assert_close("scalar", report.r2_lin_scalar, 1.0, 1e-12);
}

#[test]
fn features_without_variance_are_left_out_of_the_median() {
    let report = score(3, 3, |random| {
        let x: Vec<f64> = (0..3).map(|_| random.nearly_normal()).collect();
        let y = vec![x[0], 1.0, x[1] + random.nearly_normal()];
        (x, y)
    })
    .report;
    assert_eq!(report.r2_features[1], None);
    let (first, third) = (report.r2_features[0].expect("r2"), report.r2_features[2].expect("r2"));
    common::assert_close("median", report.r2_feature_median, f64::midpoint(first, third), 1e-12);
}
