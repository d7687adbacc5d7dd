//! Second moments: exact ones bit for bit, all of them against f64 sums of the raw rows.

use straightedge::backend::Backend;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::gpu::Options;
use straightedge::backend::gpu::kernels::gram::GRAM_FLOATS;
use straightedge::error::Error;
use straightedge::job::GramMode;
use straightedge::platform::random::Random;
use straightedge::stats::moments::{Moments, Scale};

use crate::device::{poisoned, with_device};
use crate::exact::{Case, cases};
use crate::rewrite::WAYS;

#[test]
fn exact_sums_are_exact_bit_by_bit() {
    for (name, options, case) in cases(poisoned()) {
        with_device(options, async |gpu| {
            if let Err(why) = case.check(gpu).await {
                panic!("{name}: {why}");
            }
        });
    }
}

#[test]
fn exact_sums_stay_exact_on_kernels_that_a_compiler_has_rewritten() {
    for (way, rewrite) in WAYS {
        for (name, options, case) in cases(Options { rewrite: Some(rewrite), ..poisoned() }) {
            with_device(options, async |gpu| {
                if let Err(why) = case.check(gpu).await {
                    panic!("{way}, {name}: {why}");
                }
            });
        }
    }
}

#[test]
fn every_way_to_rewrite_changes_the_kernels_that_add_in_f32() {
    let texts: Vec<String> = WAYS.iter().map(|(_, rewrite)| rewrite(&GRAM_FLOATS)).collect();
    for (at, text) in texts.iter().enumerate() {
        assert!(texts[..at].iter().all(|other| other != text), "{}:\n{text}", WAYS[at].0);
    }
    let [_, contracted, reassociated, flushed] = &texts[..] else { panic!("{} texts", texts.len()) };
    assert!(contracted.contains("countTrailingZeros(") && flushed.contains("abs("), "{contracted}{flushed}");
    assert!(!reassociated.contains("(sums + "), "{reassociated}");
    // The exact sums must not be exact merely because nothing rounds: fast sums do change.
    let case = Case::random(40, 36, &[(640, 0)], 41);
    let mut sums = Vec::new();
    for (_, rewrite) in &WAYS[..3] {
        with_device(Options { rewrite: Some(*rewrite), ..poisoned() }, async |gpu| {
            sums.push(case.measure(gpu, GramMode::Fast).await.unwrap().remove(0).xy);
        });
    }
    let Some(as_they_are) = sums.first() else { return };
    assert!(sums[1..].iter().all(|sums| sums != as_they_are), "another order or contraction rounds otherwise");
}

#[test]
fn sums_longer_than_what_is_read_at_a_time_arrive_in_their_places() {
    // 40 MB of sums, carried ones in two halves: chunks of the readback end within some of them. If an odd number of
    // four-byte largest values were read before the sums, a chunk would end within a number.
    for carry_rows in [None, Some(2)] {
        let mut case = Case::random(601, 2080, &[(2, 0), (1, 0), (1, 1)], 42);
        case.y_scale = Scale { shift: vec![0.0; 2080], exponent: vec![2; 2080] };
        with_device(Options { carry_rows, ..poisoned() }, async |gpu| {
            if let Err(why) = case.check(gpu).await {
                panic!("{carry_rows:?}: {why}");
            }
        });
    }
}

#[test]
fn many_outside_rows_are_summed_up_and_counted() {
    async fn check<B: Backend>(on: &B, exact: f64, rounding: f64) {
        let mut case = Case::random(3, 2, &[(50, 0), (50, 0), (30, 1)], 36);
        // More outlier rows than twice the width, so that they are summed up before the end; so large that sums in f32
        // would lose all others.
        case.x.chunks_exact_mut(3).step_by(2).for_each(|row| row[0] = 65536.0);
        case.x_scale = Scale { shift: vec![0.0; 3], exponent: vec![2; 3] };
        for (mode, tolerance) in [(GramMode::Exact, exact), (GramMode::Fast, 1e-4)] {
            let found = case.measure(on, mode).await.unwrap();
            for (found, rows) in found.iter().zip(case.rows_by_fold()) {
                let expected = case.expected(&rows, found.yy.is_some());
                assert_eq!(found.n, expected.n);
                for (found, expected) in found.xx.iter().zip(&expected.xx).chain(found.xy.iter().zip(&expected.xy)) {
                    let allowed = tolerance + rounding * expected.abs();
                    assert!((found - expected).abs() <= allowed, "{mode}: {found} {expected}");
                }
            }
        }
    }
    // Expected values are quantised as on a GPU. The CPU sums the values themselves, and next to squares of 2³² each of
    // the hundred rows may be rounded, in the order of its tiles.
    pollster::block_on(check(&CpuBackend::new(), 1e-5, 100.0 * f64::EPSILON));
    with_device(poisoned(), async |gpu| check(gpu, 1e-10, 0.0).await);
}

#[test]
fn a_row_that_is_not_finite_is_an_error_that_names_it() {
    async fn check<B: Backend>(on: &B) {
        for (value, in_y, site) in [(f32::NAN, false, "ffn_in"), (f32::NEG_INFINITY, true, "ffn_out")] {
            let mut case = Case::random(5, 6, &[(32, 0), (16, 1)], 38);
            if in_y {
                case.y[37 * 6 + 1] = value;
            } else {
                case.x[37 * 5 + 4] = value;
            }
            for mode in [GramMode::Exact, GramMode::Fast] {
                let error = case.measure(on, mode).await.err();
                assert_eq!(error, Some(Error::NonFiniteActivation { block: 3, site: site.into(), row: 37 }), "{mode}");
            }
        }
    }
    pollster::block_on(check(&CpuBackend::new()));
    with_device(poisoned(), async |gpu| check(gpu).await);
}

#[test]
fn quantisation_costs_less_than_two_to_the_minus_22_of_a_columns_scale_massive_rows_included() {
    with_device(poisoned(), async |gpu| {
        // One row per fold, so that the sums are the row's own values: Σx is x, Σxxᵀ is its outer product.
        let (d, rows) = (24, 400);
        let mut case = Case::random(d, d, &[(1, 0), (1, 1)], 81);
        let mut random = Random::new(82);
        let mut raw: Vec<f32> = random.values(rows * d);
        for (i, x) in raw.iter_mut().enumerate() {
            *x = (*x + 3.0) * 10f32.powi((i % d) as i32 % 9 - 4);
        }
        // Outlier rows, like the first token of a window in many models.
        for row in raw.chunks_exact_mut(d).step_by(97) {
            row.iter_mut().step_by(5).for_each(|x| *x *= 3e5);
        }
        let scale = Scale::from_rows(&raw, d);
        (case.x_scale, case.y_scale) = (scale.clone(), scale.clone());
        let mut massive = 0;
        for pair in raw.chunks_exact(2 * d) {
            case.x = pair.to_vec();
            case.y = pair.to_vec();
            let found = case.measure(gpu, GramMode::Exact).await.unwrap();
            for (found, row) in found.iter().zip(pair.chunks_exact(d)) {
                let exact: Vec<f64> =
                    row.iter().zip(&scale.shift).map(|(x, shift)| f64::from(*x) - f64::from(*shift)).collect();
                let unit = |j: usize| 2f64.powi(scale.exponent[j]);
                let outside = (0..d).any(|j| !(exact[j].abs() < unit(j)));
                massive += usize::from(outside);
                let limit = 2f64.powi(-22);
                for i in 0..d {
                    let off = (found.sum_x[i] - exact[i]).abs();
                    // An outlier row is summed in f64 and loses nothing.
                    let allowed = if outside { 0.0 } else { limit * unit(i) };
                    assert!(off <= allowed, "column {i}: off by {off:e} of a scale of {:e}", unit(i));
                    for j in 0..d {
                        let off = (found.xx[i * d + j] - exact[i] * exact[j]).abs();
                        let allowed =
                            limit * (unit(i) * exact[j].abs() + unit(j) * exact[i].abs() + limit * unit(i) * unit(j));
                        assert!(off <= allowed, "({i}, {j}): off by {off:e}, allowed {allowed:e}");
                    }
                }
            }
        }
        assert!(massive > 2, "{massive} massive rows were looked at");
    });
}

#[test]
fn both_modes_are_near_the_raw_rows() {
    async fn check<B: Backend>(on: &B) {
        let mut case = Case::random(70, 101, &[(500, 0), (300, 1)], 39);
        (case.seq_len, case.skip_positions) = (100, 3);
        for (mode, tolerance) in [(GramMode::Exact, 2f64.powi(-22)), (GramMode::Fast, 2e-6)] {
            let found = case.measure(on, mode).await.unwrap();
            for (fold, (found, rows)) in found.iter().zip(case.rows_by_fold()).enumerate() {
                let mut expected = Moments::of_fold(&case.x_scale, &case.y_scale, fold, 2);
                rows.iter().for_each(|(x, y)| expected.add_row(x, y));
                assert_eq!(found.n, expected.n);
                let pairs = found.xx.iter().zip(&expected.xx).chain(found.xy.iter().zip(&expected.xy));
                let yy = found.yy.iter().flatten().zip(expected.yy.iter().flatten());
                for (found, expected) in pairs.chain(yy) {
                    // Products are below 1 in magnitude; a column's scale is about 4.
                    let allowed = 4.0 * tolerance * (expected.abs() + rows.len() as f64).sqrt() * 2.0;
                    assert!((found - expected).abs() <= allowed, "{mode}: {found} {expected}");
                }
            }
        }
    }
    pollster::block_on(check(&CpuBackend::new()));
    // In one dispatch, and split into several.
    for flops_per_ms in [1e6, 1.0] {
        let options = Options { flops_per_ms: Some(flops_per_ms), ..poisoned() };
        with_device(options, async |gpu| check(gpu).await);
    }
}

#[test]
fn fast_sums_of_a_batch_of_many_blocks_do_not_overflow() {
    // Values of nine bits, whose products add up in f32 without rounding, and with every possible remainder.
    let mut case = Case::random(40, 36, &[(78 * 64, 0), (64, 1)], 40);
    let value = |m: usize| m as f32 / (1 << 14) as f32;
    case.x.iter_mut().enumerate().for_each(|(at, x)| *x = value(471 + at % 40));
    case.y.iter_mut().enumerate().for_each(|(at, y)| *y = -value(449 + at % 36));
    for (scale, cols) in [(&mut case.x_scale, 40), (&mut case.y_scale, 36)] {
        *scale = Scale { shift: vec![0.0; cols], exponent: vec![0; cols] };
    }
    with_device(poisoned(), async |gpu| {
        let found = case.measure(gpu, GramMode::Fast).await.unwrap();
        for (found, rows) in found.iter().zip(case.rows_by_fold()) {
            let mut expected = Moments::training(&case.x_scale, &case.y_scale);
            rows.iter().for_each(|(x, y)| expected.add_row(x, y));
            let agree = (&found.xx, &found.xy) == (&expected.xx, &expected.xy);
            assert!(agree, "{} rows", rows.len());
        }
    });
}
