//! Second moments: exact ones against i128 sums of the same quantised rows, all against f64 sums of the raw rows.

use straightedge::backend::{Backend, GramRows, GramShape};
use straightedge::error::Error;
use straightedge::gpu::quantise::quantised;
use straightedge::gpu::{GpuBackend, Options};
use straightedge::job::GramMode;
use straightedge::moments::{Moments, Scale};

use crate::compare::assert_same;
use crate::device::{Random, poisoned, upload, with_device};

/// Rows of a block, how they are folded, and their scale.
struct Case {
    d_in: usize,
    d_out: usize,
    seq_len: usize,
    skip_positions: usize,
    x: Vec<f32>,
    y: Vec<f32>,
    /// Rows of every batch, and the fold it belongs to.
    batches: Vec<(usize, usize)>,
    folds: usize,
    x_scale: Scale,
    y_scale: Scale,
}

impl Case {
    fn random(d_in: usize, d_out: usize, batches: &[(usize, usize)], seed: u64) -> Self {
        let rows: usize = batches.iter().map(|(rows, _)| rows).sum();
        let mut random = Random::new(seed);
        let (x, y) = (random.values(rows * d_in), random.values(rows * d_out));
        let (x_scale, y_scale) = (Scale::from_rows(&x, d_in), Scale::from_rows(&y, d_out));
        let folds = batches.iter().map(|(_, fold)| fold + 1).max().unwrap_or(1);
        Self { d_in, d_out, seq_len: 1, skip_positions: 0, x, y, batches: batches.to_vec(), folds, x_scale, y_scale }
    }

    fn gram_shape(&self, mode: GramMode) -> GramShape {
        let max_rows = self.batches.iter().map(|(rows, _)| *rows).max().unwrap_or(0);
        GramShape { d_in: self.d_in, d_out: self.d_out, folds: self.folds, max_rows, mode }
    }

    async fn measure(&self, gpu: &GpuBackend, mode: GramMode) -> Result<Vec<Moments>, Error> {
        let gram = gpu.gram(self.gram_shape(mode), &self.x_scale, &self.y_scale)?;
        let mut grams = [gram];
        let mut first = 0;
        for (i, &(rows, fold)) in self.batches.iter().enumerate() {
            let x = upload(gpu, rows, self.d_in, &self.x[first * self.d_in..][..rows * self.d_in]);
            let y = upload(gpu, rows, self.d_out, &self.y[first * self.d_out..][..rows * self.d_out]);
            let (seq_len, skip_positions) = (self.seq_len, self.skip_positions);
            let batch = GramRows { block: 3, fold, first_row: first, x: &x, y: &y, seq_len, skip_positions };
            gpu.accumulate(&mut grams[0], batch)?;
            first += rows;
            if i % 2 == 1 {
                gpu.settle(&mut grams).await?;
            }
        }
        gpu.settle(&mut grams).await?;
        gpu.moments(&grams[0]).await
    }

    /// (x, y) of every row that counts, by fold.
    fn rows_by_fold(&self) -> Vec<Vec<(&[f32], &[f32])>> {
        let mut folds = vec![Vec::new(); self.folds];
        let mut first = 0;
        for &(rows, fold) in &self.batches {
            for row in (first..first + rows).filter(|row| (row - first) % self.seq_len >= self.skip_positions) {
                folds[fold].push((&self.x[row * self.d_in..][..self.d_in], &self.y[row * self.d_out..][..self.d_out]));
            }
            first += rows;
        }
        folds
    }

    /// i128 sums of the quantised rows, and the rows outside the scale added in f64.
    fn expected(&self, rows: &[(&[f32], &[f32])], heldout: bool) -> Moments {
        let digits = |row: &[f32], scale: &Scale| -> Option<Vec<i128>> {
            let columns = row.iter().zip(scale.shift.iter().zip(&scale.exponent));
            columns.map(|(x, (shift, exponent))| quantised(*x, *shift, *exponent).map(i128::from)).collect()
        };
        let (d_in, d_out) = (self.d_in, self.d_out);
        let mut sums = Integers {
            n: 0,
            x: vec![0; d_in],
            y: vec![0; d_out],
            xx: vec![0; d_in * d_in],
            xy: vec![0; d_in * d_out],
            yy: vec![0; d_out * d_out],
            max: vec![0.0; d_in],
        };
        let mut outside = Vec::new();
        for &(x, y) in rows {
            match (digits(x, &self.x_scale), digits(y, &self.y_scale)) {
                (Some(p), Some(q)) => sums.add(x, &p, &q),
                _ => outside.push((x, y)),
            }
        }
        let mut moments = sums.moments(self, heldout);
        outside.into_iter().for_each(|(x, y)| moments.add_row(x, y));
        moments
    }

    async fn check_exact(&self, gpu: &GpuBackend) {
        let found = self.measure(gpu, GramMode::Exact).await.unwrap();
        assert_eq!(found.len(), self.folds);
        for (fold, (found, rows)) in found.iter().zip(self.rows_by_fold()).enumerate() {
            let expected = self.expected(&rows, fold + 1 == self.folds);
            assert_eq!(found.n, expected.n, "rows of fold {fold}");
            assert_same("shift_x", &found.shift_x, &expected.shift_x);
            assert_same("shift_y", &found.shift_y, &expected.shift_y);
            assert_same("sum_x", &found.sum_x, &expected.sum_x);
            assert_same("sum_y", &found.sum_y, &expected.sum_y);
            assert_same("xx", &found.xx, &expected.xx);
            assert_same("xy", &found.xy, &expected.xy);
            assert_same("yy_diagonal", &found.yy_diagonal, &expected.yy_diagonal);
            assert_same("max_abs_x", &found.max_abs_x, &expected.max_abs_x);
            assert_eq!(found.yy.is_some(), expected.yy.is_some());
            if let (Some(found), Some(expected)) = (&found.yy, &expected.yy) {
                assert_same("yy", found, expected);
            }
        }
    }
}

struct Integers {
    n: u64,
    x: Vec<i128>,
    y: Vec<i128>,
    xx: Vec<i128>,
    xy: Vec<i128>,
    yy: Vec<i128>,
    max: Vec<f64>,
}

impl Integers {
    fn add(&mut self, raw_x: &[f32], x: &[i128], y: &[i128]) {
        let outer = |sums: &mut [i128], a: &[i128], b: &[i128]| {
            for (sums, a) in sums.chunks_exact_mut(b.len()).zip(a) {
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
            }
        };
        self.n += 1;
        self.x.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        self.y.iter_mut().zip(y).for_each(|(sum, y)| *sum += y);
        outer(&mut self.xx, x, x);
        outer(&mut self.xy, x, y);
        outer(&mut self.yy, y, y);
        self.max.iter_mut().zip(raw_x).for_each(|(max, x)| *max = max.max(f64::from(x.abs())));
    }

    fn moments(self, case: &Case, heldout: bool) -> Moments {
        let (e_x, e_y) = (&case.x_scale.exponent, &case.y_scale.exponent);
        let single = |sums: &[i128], e: &[i32]| -> Vec<f64> {
            sums.iter().zip(e).map(|(sum, e)| *sum as f64 * 2f64.powi(e - 23)).collect()
        };
        let double = |sums: &[i128], a: &[i32], b: &[i32]| -> Vec<f64> {
            let units = a.iter().flat_map(|a| b.iter().map(move |b| 2f64.powi(a + b - 46)));
            sums.iter().zip(units).map(|(sum, unit)| *sum as f64 * unit).collect()
        };
        let yy = double(&self.yy, e_y, e_y);
        Moments {
            n: self.n,
            shift_x: case.x_scale.shift.iter().map(|shift| f64::from(*shift)).collect(),
            shift_y: case.y_scale.shift.iter().map(|shift| f64::from(*shift)).collect(),
            sum_x: single(&self.x, e_x),
            sum_y: single(&self.y, e_y),
            xx: double(&self.xx, e_x, e_x),
            xy: double(&self.xy, e_x, e_y),
            yy_diagonal: yy.iter().step_by(case.d_out + 1).copied().collect(),
            yy: heldout.then_some(yy),
            max_abs_x: self.max,
        }
    }
}

#[test]
fn exact_sums_are_exact_over_shapes() {
    with_device(poisoned(), async |gpu| {
        for (seed, (d_in, d_out, rows)) in
            [(1, 1, 1), (3, 2, 5), (31, 33, 63), (32, 32, 64), (33, 31, 65), (64, 64, 129), (97, 70, 200)]
                .into_iter()
                .enumerate()
        {
            let case = Case::random(d_in, d_out, &[(rows, 0), (rows, 1), (2 * rows, 1), (7, 2)], 20 + seed as u64);
            case.check_exact(gpu).await;
        }
    });
}

#[test]
fn exact_sums_are_exact_when_cut_into_dispatches() {
    with_device(Options { flops_per_ms: Some(1.0), ..poisoned() }, async |gpu| {
        Case::random(70, 40, &[(200, 0), (130, 1)], 30).check_exact(gpu).await;
    });
}

#[test]
fn exact_sums_stay_exact_when_they_spill() {
    with_device(Options { spill_rows: Some(100), ..poisoned() }, async |gpu| {
        Case::random(20, 9, &[(100, 0), (60, 0), (60, 1), (100, 0), (41, 1)], 31).check_exact(gpu).await;
    });
}

#[test]
fn exact_sums_are_exact_on_extreme_digits() {
    with_device(poisoned(), async |gpu| {
        // Every value at the ends of the digits' range: the sums of a block come as near to overflow as they can.
        let mut case = Case::random(33, 8, &[(640, 0)], 32);
        case.x_scale = Scale { shift: vec![0.0; 33], exponent: vec![0; 33] };
        case.y_scale = Scale { shift: vec![0.0; 8], exponent: vec![0; 8] };
        let ends = [2047 * 4096 + 2047, -2047 * 4096 - 2047, 2047 * 4096 - 2048, -2047 * 4096 - 2048, 2047, -2048];
        let value = |q: i32| q as f32 / (1 << 23) as f32;
        for (i, x) in case.x.iter_mut().enumerate() {
            *x = value(ends[i % 33 % 6]);
        }
        for (i, y) in case.y.iter_mut().enumerate() {
            *y = value(ends[i % 8 % 6]);
        }
        case.check_exact(gpu).await;
    });
}

#[test]
fn exact_sums_are_exact_on_arbitrary_bits() {
    with_device(poisoned(), async |gpu| {
        for seed in 0..4 {
            let mut case = Case::random(34, 21, &[(150, 0), (90, 1), (64, 1)], 40 + seed);
            let mut random = Random::new(50 + seed);
            for scale in [&mut case.x_scale, &mut case.y_scale] {
                scale
                    .exponent
                    .iter_mut()
                    .for_each(|e| *e = [120, 0, -100, random.below(221) as i32 - 100][random.below(4)]);
                for (shift, e) in scale.shift.iter_mut().zip(&scale.exponent) {
                    *shift = [0.0, -1.5, 0.999][random.below(3)] * 2f32.powi(e - 3);
                }
            }
            fill(&mut case.x, &case.x_scale.exponent, &mut random);
            fill(&mut case.y, &case.y_scale.exponent, &mut random);
            case.check_exact(gpu).await;
        }
    });
}

/// Arbitrary finite bits: in most rows of exponents from denormal to the column's scale, in a few of any exponent.
fn fill(values: &mut [f32], exponents: &[i32], random: &mut Random) {
    let special = [0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1), -f32::from_bits(77)];
    for (i, row) in values.chunks_exact_mut(exponents.len()).enumerate() {
        let massive = i % 30 == 7;
        for (value, e) in row.iter_mut().zip(exponents) {
            let fields = if massive { 255 } else { e + 126 };
            let bits = (random.bits() as u32 & 0x807f_ffff) | ((random.below(fields as usize) as u32) << 23);
            let pick = random.below(9);
            *value = if massive && pick < special.len() { special[pick] } else { f32::from_bits(bits) };
        }
    }
}

#[test]
fn rounding_is_half_away_from_zero_at_every_shift() {
    with_device(poisoned(), async |gpu| {
        // Values around every half unit, against exponents from fine to coarse.
        let d_in = 40;
        let mut case = Case::random(d_in, 1, &[(256, 0)], 33);
        case.x_scale = Scale { shift: vec![0.0; d_in], exponent: (0..d_in as i32).map(|j| j - 8).collect() };
        let mut random = Random::new(34);
        for row in case.x.chunks_exact_mut(d_in) {
            for (j, x) in row.iter_mut().enumerate() {
                let half_units = random.below(1 << 12) as f32 - 2048.0;
                let nudge = [0.0, f32::EPSILON, -f32::EPSILON][random.below(3)];
                *x = half_units * (1.0 + nudge) * 2f32.powi(j as i32 - 8 - 24);
            }
        }
        case.check_exact(gpu).await;
    });
}

#[test]
fn one_massive_row_and_a_constant_column_stay_exact() {
    with_device(poisoned(), async |gpu| {
        let mut case = Case::random(24, 24, &[(128, 0), (128, 1)], 35);
        case.x.chunks_exact_mut(24).for_each(|row| row[5] = 7.25);
        case.x[77 * 24 + 3] = 3.0e37;
        case.y[200 * 24 + 9] = -9.0e8;
        case.x_scale = Scale::from_rows(&case.x, 24);
        case.y_scale = Scale::from_rows(&case.y, 24);
        case.check_exact(gpu).await;
    });
}

#[test]
fn many_outside_rows_are_summed_up_and_counted() {
    with_device(poisoned(), async |gpu| {
        let mut case = Case::random(3, 2, &[(50, 0), (50, 0), (30, 1)], 36);
        // More outside rows than twice the width, so that the side path sums them up on its way.
        case.x.chunks_exact_mut(3).step_by(2).for_each(|row| row[0] = 64.0);
        case.x_scale = Scale { shift: vec![0.0; 3], exponent: vec![2; 3] };
        let found = case.measure(gpu, GramMode::Exact).await.unwrap();
        for (found, rows) in found.iter().zip(case.rows_by_fold()) {
            let expected = case.expected(&rows, found.yy.is_some());
            assert_eq!(found.n, expected.n);
            for (found, expected) in found.xx.iter().zip(&expected.xx).chain(found.xy.iter().zip(&expected.xy)) {
                assert!((found - expected).abs() <= 1e-10, "{found} {expected}");
            }
        }
    });
}

#[test]
fn skipped_positions_contribute_nothing_whatever_they_hold() {
    with_device(poisoned(), async |gpu| {
        let mut case = Case::random(5, 6, &[(32, 0), (16, 1)], 37);
        (case.seq_len, case.skip_positions) = (8, 2);
        case.x.chunks_exact_mut(5).step_by(8).for_each(|row| row.fill(f32::NAN));
        case.check_exact(gpu).await;
    });
}

#[test]
fn a_row_that_is_not_finite_is_an_error_that_names_it() {
    with_device(poisoned(), async |gpu| {
        for (value, in_y, site) in [(f32::NAN, false, "ffn_in"), (f32::NEG_INFINITY, true, "ffn_out")] {
            let mut case = Case::random(5, 6, &[(32, 0), (16, 1)], 38);
            if in_y {
                case.y[37 * 6 + 1] = value;
            } else {
                case.x[37 * 5 + 4] = value;
            }
            let error = case.measure(gpu, GramMode::Exact).await.err();
            assert_eq!(error, Some(Error::NonFiniteActivation { block: 3, site: site.into(), row: 37 }));
        }
    });
}

#[test]
fn both_modes_are_near_the_raw_rows() {
    with_device(poisoned(), async |gpu| {
        let case = Case::random(40, 36, &[(500, 0), (300, 1)], 39);
        for (mode, tolerance) in [(GramMode::Exact, 2f64.powi(-22)), (GramMode::Fast, 2e-6)] {
            let found = case.measure(gpu, mode).await.unwrap();
            for (fold, (found, rows)) in found.iter().zip(case.rows_by_fold()).enumerate() {
                let mut expected = Moments::empty(&case.x_scale, &case.y_scale, fold == 1);
                rows.iter().for_each(|(x, y)| expected.add_row(x, y));
                assert_eq!(found.n, expected.n);
                let pairs = found.xx.iter().zip(&expected.xx).chain(found.xy.iter().zip(&expected.xy));
                let yy = found.yy.iter().flatten().zip(expected.yy.iter().flatten());
                for (found, expected) in pairs.chain(yy) {
                    // Products are below 1 in magnitude; a column's scale is about 4.
                    let allowed = 4.0 * tolerance * (found.abs() + rows.len() as f64).sqrt() * 2.0;
                    assert!((found - expected).abs() <= allowed, "{mode}: {found} {expected}");
                }
            }
        }
    });
}
