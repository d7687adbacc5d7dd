//! Exact second moments against i128 sums of the same quantised rows, bit for bit: natively here, and in a browser by
//! the worker's module `checks`.

use straightedge::backend::gpu::Exact;
use straightedge::backend::gpu::quantise::{LARGEST, flushed, quantised};
use straightedge::backend::gpu::{GpuBackend, Options};
use straightedge::backend::{Backend, GramRows, GramShape, Shape};
use straightedge::error::Error;
use straightedge::job::GramMode;
use straightedge::platform::random::Random;
use straightedge::stats::moments::{Moments, Scale};

/// Rows with which a Gram must agree bit by bit, by what is special about them, and how the device is to be opened.
pub(crate) fn cases(base: Options) -> Vec<(String, Options, Case)> {
    let mut cases: Vec<(String, Options, Case)> = Vec::new();
    let mut add = |name: String, options: Options, case: Case| cases.push((name, options, case));
    let shapes = [(1, 1, 1), (3, 2, 5), (31, 33, 63), (32, 32, 64), (33, 31, 65), (64, 64, 129), (97, 70, 200)];
    for (seed, (d_in, d_out, rows)) in shapes.into_iter().enumerate() {
        let case = Case::random(d_in, d_out, &[(rows, 0), (rows, 1), (2 * rows, 1), (7, 2)], 20 + seed as u64);
        add(format!("{rows} rows of {d_in} and {d_out} columns"), base, case);
    }
    for exact in Exact::ALL {
        let options = Options { exact: Some(exact), ..base };
        let case = Case::random(70, 101, &[(130, 0), (255, 1), (3, 1)], 28);
        add(format!("digits by {exact:?}"), options, case);
        add(format!("digits at both ends by {exact:?}"), options, extreme_digits());
        add(format!("digits where sums go farthest by {exact:?}"), options, adversaries());
        add(format!("a few massive rows by {exact:?}"), options, one_massive_row());
        let batches = [(777, 0), (257, 0), (3, 1), (1, 1), (514, 2)];
        add(format!("blocks of rows that are not full by {exact:?}"), options, Case::random(9, 6, &batches, 29));
        let slow = Options { flops_per_ms: Some(1.0), ..options };
        add(format!("cut into dispatches by {exact:?}"), slow, Case::random(70, 40, &[(600, 0), (130, 1)], 30));
    }
    let carrying = Options { carry_rows: Some(100), ..base };
    let batches = [(100, 0), (60, 0), (60, 1), (100, 0), (41, 1)];
    add("sums that carry".into(), carrying, Case::random(20, 9, &batches, 31));
    // More than a mebibyte of sums.
    let batches = [(100, 0), (9, 0), (2, 1)];
    add("many sums that carry".into(), carrying, Case::random(530, 3, &batches, 32));
    for seed in 0..4 {
        add(format!("arbitrary bits, seed {seed}"), base, arbitrary_bits(seed));
    }
    for e in [-100, -60, -1, 0, 1, 24, 60, 120] {
        add(format!("every exponent under the scale 2^{e}"), base, every_exponent(e));
    }
    for e in [-100, 3, 120] {
        add(format!("around the largest value under the scale 2^{e}"), base, around_the_largest(e));
    }
    add("rounding around halves".into(), base, halves());
    add("one massive row and a constant column".into(), base, one_massive_row());
    for shifted in [true, false] {
        add(format!("constant columns, shifted: {shifted}"), base, constant_columns(shifted));
    }
    add("skipped positions that are no numbers".into(), base, skipped());
    cases
}

/// Every value at the ends of the digits' range: block sums come as close to overflow as possible.
fn extreme_digits() -> Case {
    let mut case = Case::random(33, 8, &[(640, 0)], 32);
    case.x_scale = Scale { shift: vec![0.0; 33], exponent: vec![0; 33] };
    case.y_scale = Scale { shift: vec![0.0; 8], exponent: vec![0; 8] };
    let ends = [LARGEST, -LARGEST, 2040 * 4096 - 2048, -2039 * 4096 - 2048, 2047, -2048];
    let value = |q: i32| q as f32 / (1 << 23) as f32;
    assert!(ends.iter().all(|q| quantised(value(*q), 0.0, 0) == Some(*q)), "no row is an outlier");
    case.x.iter_mut().enumerate().for_each(|(i, x)| *x = value(ends[i % 33 % 6]));
    case.y.iter_mut().enumerate().for_each(|(i, y)| *y = value(ends[i % 8 % 6]));
    case
}

/// Columns of values with extreme block sums, over three blocks and a number of rows not divisible by four.
fn adversaries() -> Case {
    /// All low digits of 8 bits at −128, which gives their largest sum.
    const LOW: i32 = -128 * 0x101;
    /// The same with the largest high digit.
    const HIGH: i32 = 127 * 0x1_0000 + LOW;
    /// Digits whose sums are odd and so large that f32 would round 257 of their products.
    const ODD: i32 = 0x7f_7e7f;
    /// Both digits of 12 bits at their minimum.
    const TWELVE: i32 = -2039 * 4096 - 2048;
    let columns: [fn(usize) -> i32; 9] = [
        |_| LARGEST,
        |_| -LARGEST,
        |row| if row % 2 == 0 { LARGEST } else { -LARGEST },
        |_| LOW,
        |_| HIGH,
        |_| ODD,
        |_| TWELVE,
        |row| if row / 256 % 2 == 0 { LARGEST } else { -LARGEST },
        // Two rows of the second fold are outside the scale.
        |row| if row == 771 || row == 773 { -(1 << 23) } else { -1 },
    ];
    let mut case = Case::random(33, 12, &[(770, 0), (5, 1)], 33);
    case.x_scale = Scale { shift: vec![0.0; 33], exponent: vec![0; 33] };
    case.y_scale = Scale { shift: vec![0.0; 12], exponent: vec![0; 12] };
    let value = |row: usize, col: usize| columns[col % 9](row) as f32 / (1 << 23) as f32;
    assert!((0..770).all(|row| (0..9).all(|col| quantised(value(row, col), 0.0, 0) == Some(columns[col](row)))));
    case.x.iter_mut().enumerate().for_each(|(i, x)| *x = value(i / 33, i % 33));
    case.y.iter_mut().enumerate().for_each(|(i, y)| *y = value(i / 12, i % 12));
    case
}

fn arbitrary_bits(seed: u64) -> Case {
    let mut case = Case::random(34, 21, &[(150, 0), (90, 1), (64, 1)], 40 + seed);
    let mut random = Random::new(50 + seed);
    for scale in [&mut case.x_scale, &mut case.y_scale] {
        scale.exponent.iter_mut().for_each(|e| *e = [120, 0, -100, random.below(221) as i32 - 100][random.below(4)]);
        for (shift, e) in scale.shift.iter_mut().zip(&scale.exponent) {
            *shift = [0.0, -1.5, 0.999][random.below(3)] * 2f32.powi(e - 3);
        }
    }
    fill(&mut case.x, &case.x_scale.exponent, &mut random);
    fill(&mut case.y, &case.y_scale.exponent, &mut random);
    case
}

/// Arbitrary finite bits: exponents from denormal to the column's scale in most rows, any exponent in a few.
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

/// Row by row every exponent of f32, including denormals and the largest values, with the smallest, the largest and a
/// random mantissa, in both signs, under one scale: from all zero to all outside.
fn every_exponent(e: i32) -> Case {
    let mut case = Case::random(2, 1, &[(256, 0), (256, 1)], 60);
    case.x_scale = Scale { shift: vec![0.0, 0.75 * 2f32.powi(e - 1)], exponent: vec![e; 2] };
    case.y_scale = Scale { shift: vec![-(2f32.powi(e - 2))], exponent: vec![e] };
    let mut random = Random::new((70 + e).cast_unsigned().into());
    let mut bits = |row: usize| {
        let mantissa = [0, 0x007f_ffff, random.bits() as u32 & 0x007f_ffff][random.below(3)];
        f32::from_bits((random.bits() as u32 & 0x8000_0000) | (((row % 255) as u32) << 23) | mantissa)
    };
    for row in 0..512 {
        (case.x[2 * row], case.x[2 * row + 1], case.y[row]) = (bits(row), bits(row), bits(row));
    }
    case
}

/// The last values that round to the largest digits, and the first ones beyond, which the device must exclude.
fn around_the_largest(e: i32) -> Case {
    let mut case = Case::random(8, 4, &[(16, 0), (16, 1)], 36);
    case.x_scale = Scale { shift: vec![0.0; 8], exponent: vec![e; 8] };
    case.y_scale = Scale { shift: vec![0.0; 4], exponent: vec![e; 4] };
    let first_beyond = (LARGEST as f32 + 0.5) * 2f32.powi(-23) * 2f32.powi(e);
    case.x.iter_mut().for_each(|x| *x *= first_beyond / 8.0);
    case.y.iter_mut().for_each(|y| *y *= first_beyond / 8.0);
    for (row, values) in case.x.chunks_exact_mut(8).enumerate() {
        let bits = first_beyond.to_bits() + row as u32 % 4 - 2;
        values[row % 8] = f32::from_bits(bits).copysign(if row % 3 == 0 { -1.0 } else { 1.0 });
        assert_eq!(quantised(values[row % 8], 0.0, e).is_none(), row % 4 >= 2);
    }
    case
}

/// Values around every half unit, for exponents from fine to coarse: halves round away from zero.
fn halves() -> Case {
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
    case
}

fn one_massive_row() -> Case {
    let mut case = Case::random(24, 24, &[(128, 0), (128, 1)], 35);
    case.x.chunks_exact_mut(24).for_each(|row| row[5] = 7.25);
    case.x[77 * 24 + 3] = 3.0e37;
    case.y[200 * 24 + 9] = -9.0e8;
    case.x_scale = Scale::from_rows(&case.x, 24);
    case.y_scale = Scale::from_rows(&case.y, 24);
    case
}

/// Constants of every magnitude, under their own scale or under one whose shift comes from other values.
fn constant_columns(shifted: bool) -> Case {
    let constants = [0.0, -0.0, 1.0, -7.25, 3.4e38, -3.4e38, 1.2e-38, f32::from_bits(1), 0.1, 16_777_215.0];
    let mut case = Case::random(constants.len(), 3, &[(64, 0), (64, 1)], 80);
    case.x.chunks_exact_mut(constants.len()).for_each(|row| row.copy_from_slice(&constants));
    case.x_scale = Scale::from_rows(&case.x, constants.len());
    if !shifted {
        case.x_scale.shift.fill(0.0);
    }
    case
}

fn skipped() -> Case {
    let mut case = Case::random(5, 6, &[(32, 0), (16, 1)], 37);
    (case.seq_len, case.skip_positions) = (8, 2);
    case.x.chunks_exact_mut(5).step_by(8).for_each(|row| row.fill(f32::NAN));
    case
}

/// Rows of a block, their folds, and their scale.
pub(crate) struct Case {
    pub(crate) d_in: usize,
    pub(crate) d_out: usize,
    pub(crate) seq_len: usize,
    pub(crate) skip_positions: usize,
    pub(crate) x: Vec<f32>,
    pub(crate) y: Vec<f32>,
    /// Rows of every batch, and its fold.
    batches: Vec<(usize, usize)>,
    folds: usize,
    pub(crate) x_scale: Scale,
    pub(crate) y_scale: Scale,
}

impl Case {
    pub(crate) fn random(d_in: usize, d_out: usize, batches: &[(usize, usize)], seed: u64) -> Self {
        let rows: usize = batches.iter().map(|(rows, _)| rows).sum();
        let mut random = Random::new(seed);
        let (x, y) = (random.values(rows * d_in), random.values(rows * d_out));
        let (x_scale, y_scale) = (Scale::from_rows(&x, d_in), Scale::from_rows(&y, d_out));
        let folds = batches.iter().map(|(_, fold)| fold + 1).max().unwrap_or(1);
        Self { d_in, d_out, seq_len: 1, skip_positions: 0, x, y, batches: batches.to_vec(), folds, x_scale, y_scale }
    }

    fn gram_shape(&self, mode: GramMode) -> GramShape {
        GramShape { d_in: self.d_in, d_out: self.d_out, folds: self.folds, mode }
    }

    pub(crate) async fn measure<B: Backend>(&self, on: &B, mode: GramMode) -> Result<Vec<Moments>, Error> {
        let mut gram = on.gram(self.gram_shape(mode), &self.x_scale, &self.y_scale).await?;
        let mut first = 0;
        for (i, &(rows, fold)) in self.batches.iter().enumerate() {
            let x = &self.x[first * self.d_in..][..rows * self.d_in];
            let y = &self.y[first * self.d_out..][..rows * self.d_out];
            let x = on.upload("x", Shape::new(rows, self.d_in), x)?;
            let y = on.upload("y", Shape::new(rows, self.d_out), y)?;
            let (seq_len, skip_positions) = (self.seq_len, self.skip_positions);
            let batch = GramRows { block: 3, fold, part: 0, first_row: first, x: &x, y: &y, seq_len, skip_positions };
            on.accumulate(&mut gram, batch)?;
            first += rows;
            if i % 2 == 1 {
                on.batch_end(Some(&mut gram)).await?;
            }
        }
        on.moments(gram).await
    }

    /// (x, y) of every included row, by fold.
    pub(crate) fn rows_by_fold(&self) -> Vec<Vec<(&[f32], &[f32])>> {
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

    /// i128 sums of the quantised rows, and f64 sums of the rows outside the scale.
    pub(crate) fn expected(&self, rows: &[(&[f32], &[f32])], heldout: bool) -> Moments {
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
        let (x_scale, y_scale) = (on_device(&self.x_scale), on_device(&self.y_scale));
        let mut rest =
            if heldout { Moments::heldout(&x_scale, &y_scale) } else { Moments::training(&x_scale, &y_scale) };
        outside.into_iter().for_each(|(x, y)| rest.add_row(x, y));
        moments.merge(&rest);
        moments
    }

    /// Reports where second moments, as read back, differ from the exact ones in any bit.
    pub(crate) async fn check(&self, gpu: &GpuBackend) -> Result<(), String> {
        let found = self.measure(gpu, GramMode::Exact).await.map_err(|error| error.to_string())?;
        if found.len() != self.folds {
            return Err(format!("{} folds of {}", found.len(), self.folds));
        }
        for (fold, (found, rows)) in found.iter().zip(self.rows_by_fold()).enumerate() {
            let expected = self.expected(&rows, fold + 1 == self.folds);
            same(found, &expected).map_err(|why| format!("fold {fold}, {why}"))?;
        }
        Ok(())
    }
}

fn same(found: &Moments, expected: &Moments) -> Result<(), String> {
    if found.n != expected.n || found.yy.is_some() != expected.yy.is_some() {
        return Err(format!("{} rows of {}, or yyᵀ in the wrong fold", found.n, expected.n));
    }
    let lists = |moments: &Moments| {
        let Moments { shift_x, shift_y, sum_x, sum_y, xx, xy, yy_diagonal, yy, max_abs_x, n: _ } = moments.clone();
        [shift_x, shift_y, sum_x, sum_y, xx, xy, yy_diagonal, yy.unwrap_or_default(), max_abs_x]
    };
    let names = ["shift_x", "shift_y", "sum_x", "sum_y", "xx", "xy", "yy_diagonal", "yy", "max_abs_x"];
    for (name, (found, expected)) in names.into_iter().zip(lists(found).into_iter().zip(lists(expected))) {
        if found.len() != expected.len() {
            return Err(format!("{name}: {} values of {}", found.len(), expected.len()));
        }
        // Negated so that NaN fails.
        if let Some(at) = (0..found.len()).find(|&at| !(found[at] == expected[at])) {
            return Err(format!("{name}: element {at} is {}, expected {}", found[at], expected[at]));
        }
    }
    Ok(())
}

/// A scale as a device receives it: without denormals.
fn on_device(scale: &Scale) -> Scale {
    Scale { shift: scale.shift.iter().map(|shift| flushed(*shift)).collect(), exponent: scale.exponent.clone() }
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
            shift_x: case.x_scale.shift.iter().map(|shift| f64::from(flushed(*shift))).collect(),
            shift_y: case.y_scale.shift.iter().map(|shift| f64::from(flushed(*shift))).collect(),
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
