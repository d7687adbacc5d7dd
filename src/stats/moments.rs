//! Second moments of a block's rows: all that the fit needs, in memory that does not grow with the number of rows.
//!
//! Sums are of **shifted** values x − shift, y − shift: centring first matters more for the sixth digit than any other
//! choice. Shift and power-of-two scale of a column come from the first batch ([`Scale`]).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::platform::parallel;

/// Shift and scale of the columns of x or of y, fixed before the first row is accumulated.
///
/// Both are robust: the shift is a median, the scale a quantile, so that one massive row (in many models the first
/// token of a window) costs the other rows no bits. The few rows outside the scale are added in f64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Per column: subtracted from every value.
    pub shift: Vec<f32>,
    /// Per column e: shifted values below 2^e in magnitude are within the scale; −100 ≤ e ≤ 120.
    pub exponent: Vec<i32>,
}

/// Smallest exponent: with smaller ones f32 shifts could be denormal.
const MIN_EXPONENT: i32 = -100;
/// Largest exponent: with larger ones 2^e exceeds the range of f32.
const MAX_EXPONENT: i32 = 120;
/// A column's scale is this many times the quantile of its shifted magnitudes.
const HEADROOM: f32 = 4.0;
/// The quantile; up to 2 % of the rows may be massive.
const QUANTILE: f64 = 0.98;
/// Largest share of calibration rows that may be outliers, outside the scale.
const MAX_OUTLIERS: f64 = 0.02;

impl Scale {
    /// Chooses the scale from `rows` (row-major, `cols` wide, at least one row).
    pub fn from_rows(rows: &[f32], cols: usize) -> Self {
        let column = |&j: &usize| column_scale(rows.iter().skip(j).step_by(cols).copied().collect());
        let scales = parallel::map(&(0..cols).collect::<Vec<_>>(), column);
        let (shift, exponent) = scales.into_iter().unzip();
        let mut scale = Self { shift, exponent };
        scale.widen(rows);
        scale
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.shift.len()
    }

    /// The shift of every column in f64, as in `Moments`.
    pub(crate) fn shifts(&self) -> Vec<f64> {
        self.shift.iter().copied().map(f64::from).collect()
    }

    /// Raises exponents one by one until few enough rows are outliers: heavy tails in many columns add up.
    fn widen(&mut self, rows: &[f32]) {
        let cols = self.cols();
        let allowed = (MAX_OUTLIERS * (rows.len() / cols) as f64) as usize;
        loop {
            let outliers: Vec<&[f32]> = rows.chunks_exact(cols).filter(|row| self.is_outlier(row)).collect();
            if outliers.len() <= allowed {
                return;
            }
            let mut raised = false;
            for j in 0..cols {
                let (shift, exponent) = (self.shift[j], self.exponent[j]);
                if exponent < MAX_EXPONENT && outliers.iter().any(|row| exceeds(row[j], shift, exponent)) {
                    self.exponent[j] += 1;
                    raised = true;
                }
            }
            if !raised {
                return;
            }
        }
    }

    /// Whether a row has a value beyond its column's scale, or NaN.
    pub(crate) fn is_outlier(&self, row: &[f32]) -> bool {
        let columns = row.iter().zip(self.shift.iter().zip(&self.exponent));
        // No early exit, so that the loop vectorises.
        columns.fold(false, |is_outlier, (value, (shift, exponent))| is_outlier | exceeds(*value, *shift, *exponent))
    }
}

/// Whether a value differs from `shift` by 2^exponent or more, or is NaN.
fn exceeds(value: f32, shift: f32, exponent: i32) -> bool {
    // Negated, so that NaN exceeds.
    !((value - shift).abs() < exp2(exponent))
}

fn column_scale(mut column: Vec<f32>) -> (f32, i32) {
    let middle = column.len() / 2;
    let shift = *column.select_nth_unstable_by(middle, f32::total_cmp).1;
    let shift = if shift.is_finite() { shift } else { 0.0 };
    let mut spread: Vec<f32> = column.iter().map(|value| (value - shift).abs()).collect();
    let at = ((spread.len() - 1) as f64 * QUANTILE) as usize;
    let typical = *spread.select_nth_unstable_by(at, f32::total_cmp).1;
    let largest = spread.iter().copied().filter(|value| value.is_finite()).fold(0.0, f32::max);
    let reach = match (typical > 0.0 && typical.is_finite(), largest > 0.0) {
        (true, _) => HEADROOM * typical,
        (false, true) => largest,
        // A constant column: one unit in the last place is one unit of the scale.
        (false, false) => shift.abs(),
    };
    (shift, exponent_above(reach))
}

/// Smallest e with 2^e > value, within the allowed range.
fn exponent_above(value: f32) -> i32 {
    let biased = (value.to_bits() >> 23 & 0xff) as i32;
    (biased - 126).clamp(MIN_EXPONENT, MAX_EXPONENT)
}

fn exp2(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// 2^exponent, for −1022 ≤ exponent ≤ 1023.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Rows added to the sums at a time.
const BLOCK_ROWS: usize = 64;

/// Sums over the rows of one fold; values are shifted per column.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Rows.
    pub n: u64,
    /// Per column of x (d_in).
    pub shift_x: Vec<f64>,
    /// Per column of y (d_out).
    pub shift_y: Vec<f64>,
    /// Σ(x − shift), d_in.
    pub sum_x: Vec<f64>,
    /// Σ(y − shift), d_out.
    pub sum_y: Vec<f64>,
    /// Σ(x − shift)(x − shift)ᵀ, row-major d_in × d_in, both triangles.
    pub xx: Vec<f64>,
    /// Σ(x − shift)(y − shift)ᵀ, row-major d_in × d_out.
    pub xy: Vec<f64>,
    /// Diagonal of Σ(y − shift)(y − shift)ᵀ, d_out.
    pub yy_diagonal: Vec<f64>,
    /// The full Σ(y − shift)(y − shift)ᵀ, row-major d_out × d_out; only for the held-out fold.
    pub yy: Option<Vec<f64>>,
    /// Largest |x| per column, unshifted, d_in.
    pub max_abs_x: Vec<f64>,
}

impl Moments {
    /// Moments without rows of a fold to train on, with the shifts of `x` and `y`.
    pub fn training(x: &Scale, y: &Scale) -> Self {
        let (d_in, d_out) = (x.cols(), y.cols());
        Self {
            n: 0,
            shift_x: x.shifts(),
            shift_y: y.shifts(),
            sum_x: vec![0.0; d_in],
            sum_y: vec![0.0; d_out],
            xx: zeros(d_in * d_in),
            xy: zeros(d_in * d_out),
            yy_diagonal: vec![0.0; d_out],
            yy: None,
            max_abs_x: vec![0.0; d_in],
        }
    }

    /// The same for the held-out fold, with the full yyᵀ.
    pub fn heldout(x: &Scale, y: &Scale) -> Self {
        Self { yy: Some(zeros(y.cols() * y.cols())), ..Self::training(x, y) }
    }

    /// The same for a fold of `folds` by its index; the last one is held out.
    pub fn of_fold(x: &Scale, y: &Scale, fold: usize, folds: usize) -> Self {
        if fold + 1 == folds { Self::heldout(x, y) } else { Self::training(x, y) }
    }

    /// Width of x.
    pub fn d_in(&self) -> usize {
        self.sum_x.len()
    }

    /// Width of y.
    pub fn d_out(&self) -> usize {
        self.sum_y.len()
    }

    /// Adds one unshifted row.
    pub fn add_row(&mut self, x: &[f32], y: &[f32]) {
        self.add_rows(x, y);
    }

    /// Adds unshifted rows, row-major, such as the outlier rows of a device. Bitwise equal to adding them one by one,
    /// but loads every sum once for many rows.
    pub fn add_rows(&mut self, x: &[f32], y: &[f32]) {
        let (d_in, d_out) = (self.d_in(), self.d_out());
        assert!(x.len().is_multiple_of(d_in) && x.len() / d_in * d_out == y.len(), "rows of x and of y");
        for (x, y) in x.chunks(BLOCK_ROWS * d_in).zip(y.chunks(BLOCK_ROWS * d_out)) {
            self.add_block(x, y);
        }
    }

    fn add_block(&mut self, x: &[f32], y: &[f32]) {
        let (d_in, d_out) = (self.d_in(), self.d_out());
        for row in x.chunks_exact(d_in) {
            let reach = self.max_abs_x.iter_mut().zip(row);
            reach.for_each(|(max, value)| *max = max.max(f64::from(value.abs())));
        }
        let (x, y) = (shifted(x, &self.shift_x), shifted(y, &self.shift_y));
        self.n += (x.len() / d_in) as u64;
        x.chunks_exact(d_in).for_each(|row| add(&mut self.sum_x, row));
        y.chunks_exact(d_out).for_each(|row| add(&mut self.sum_y, row));
        add_symmetric(&mut self.xx, &x, d_in);
        for (i, sums) in self.xy.chunks_exact_mut(d_out).enumerate() {
            add_scaled_rows(sums, &x[i..], d_in, &y, d_out);
        }
        for row in y.chunks_exact(d_out) {
            self.yy_diagonal.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        if let Some(yy) = &mut self.yy {
            add_symmetric(yy, &y, d_out);
        }
    }

    /// Adds the rows of `other`, which must have the same shifts. The full yyᵀ is kept only if both have it.
    pub fn merge(&mut self, other: &Self) {
        assert!(self.shift_x == other.shift_x && self.shift_y == other.shift_y, "moments under different shifts");
        self.n += other.n;
        add(&mut self.sum_x, &other.sum_x);
        add(&mut self.sum_y, &other.sum_y);
        add(&mut self.xx, &other.xx);
        add(&mut self.xy, &other.xy);
        add(&mut self.yy_diagonal, &other.yy_diagonal);
        match (&mut self.yy, &other.yy) {
            (Some(yy), Some(more)) => add(yy, more),
            (yy, _) => *yy = None,
        }
        raise(&mut self.max_abs_x, &other.max_abs_x);
    }

    /// Those of the first `count` columns of x.
    pub fn first_columns(&self, count: usize) -> Cow<'_, Self> {
        let (d_in, d_out) = (self.d_in(), self.d_out());
        if count == d_in {
            return Cow::Borrowed(self);
        }
        let of = |columns: &[f64]| columns[..count].to_vec();
        Cow::Owned(Self {
            shift_x: of(&self.shift_x),
            sum_x: of(&self.sum_x),
            xx: self.xx.chunks_exact(d_in).take(count).flat_map(|row| &row[..count]).copied().collect(),
            xy: self.xy[..count * d_out].to_vec(),
            max_abs_x: of(&self.max_abs_x),
            shift_y: self.shift_y.clone(),
            sum_y: self.sum_y.clone(),
            yy_diagonal: self.yy_diagonal.clone(),
            yy: self.yy.clone(),
            n: self.n,
        })
    }

    /// Mean of the shifted x.
    pub fn mean_x(&self) -> Vec<f64> {
        self.sum_x.iter().map(|sum| sum / self.n as f64).collect()
    }

    /// Mean of the shifted y.
    pub fn mean_y(&self) -> Vec<f64> {
        self.sum_y.iter().map(|sum| sum / self.n as f64).collect()
    }

    /// Population variance of every y_j.
    pub fn variance_y(&self) -> Vec<f64> {
        let n = self.n as f64;
        self.yy_diagonal.iter().zip(self.mean_y()).map(|(sum, mean)| (sum / n - mean * mean).max(0.0)).collect()
    }

    /// Population variance of every x_j.
    pub fn variance_x(&self) -> Vec<f64> {
        let (n, d) = (self.n as f64, self.d_in());
        let diagonal = self.xx.iter().step_by(d + 1);
        diagonal.zip(self.mean_x()).map(|(sum, mean)| (sum / n - mean * mean).max(0.0)).collect()
    }
}

/// Zeros that are written explicitly. Sums read a page before they write it, which costs two page faults if the page is
/// fresh, and the second one stalls all other threads.
fn zeros(len: usize) -> Vec<f64> {
    let mut zeros = vec![0.0; len];
    parallel::for_chunks(&mut zeros, 1 << 16, |_, part| part.fill(0.0));
    zeros
}

fn add(sums: &mut [f64], more: &[f64]) {
    assert_eq!(sums.len(), more.len());
    for (sum, value) in sums.iter_mut().zip(more) {
        *sum += value;
    }
}

fn raise(largest: &mut [f64], more: &[f64]) {
    largest.iter_mut().zip(more).for_each(|(largest, more)| *largest = largest.max(*more));
}

fn shifted(rows: &[f32], shift: &[f64]) -> Vec<f64> {
    rows.chunks_exact(shift.len())
        .flat_map(|row| row.iter().zip(shift).map(|(&value, shift)| f64::from(value) - shift))
        .collect()
}

/// sums += Σ r·rᵀ over rows r of `cols` columns; computes one triangle and copies the other.
fn add_symmetric(sums: &mut [f64], rows: &[f64], cols: usize) {
    for (i, sums) in sums.chunks_exact_mut(cols).enumerate() {
        add_scaled_rows(&mut sums[i..], &rows[i..], cols, &rows[i..], cols);
    }
    for i in 1..cols {
        (0..i).for_each(|j| sums[i * cols + j] = sums[j * cols + i]);
    }
}

/// sums += f·r for every row: f is the first of its `stride` factors, r the first values of its `width`.
fn add_scaled_rows(sums: &mut [f64], factors: &[f64], stride: usize, rows: &[f64], width: usize) {
    for (factor, row) in factors.iter().step_by(stride).zip(rows.chunks(width)) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;

    fn noise(n: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.symmetric_f32() / 2.0).collect()
    }

    #[test]
    fn a_massive_row_leaves_the_scale_alone() {
        let mut rows = noise(512 * 3, 1);
        let calm = Scale::from_rows(&rows, 3);
        rows[0] = 1e9;
        let scale = Scale::from_rows(&rows, 3);
        assert_eq!(scale.exponent, calm.exponent);
        assert!(calm.exponent.iter().all(|e| (1..=2).contains(e)), "uniform ±0.5, about 4·0.5: {:?}", calm.exponent);
    }

    #[test]
    fn heavy_tails_in_many_columns_widen_the_scale() {
        // Each column is massive in 1 % of the rows, never two at once: 16 % of the rows would be outside.
        let mut rows = noise(1000 * 16, 2);
        for j in 0..16 {
            (0..10).for_each(|i| rows[(10 * j + i) * 16 + j] = 100.0);
        }
        let scale = Scale::from_rows(&rows, 16);
        let outliers = rows.chunks_exact(16).filter(|row| scale.is_outlier(row)).count();
        assert!(outliers <= 20, "{outliers} outlier rows");
    }

    #[test]
    fn constant_and_silent_columns_have_a_scale() {
        let rows: Vec<f32> = (0..64).flat_map(|_| [3.0, 0.0]).collect();
        let scale = Scale::from_rows(&rows, 2);
        assert_eq!(scale.shift, [3.0, 0.0]);
        assert_eq!(scale.exponent, [2, MIN_EXPONENT]);
    }

    #[test]
    fn rows_added_at_once_are_rows_added_one_by_one_bit_by_bit() {
        let rows = 2 * BLOCK_ROWS + 7;
        let (x, y) = (noise(rows * 5, 5), noise(rows * 3, 6));
        let (scale_x, scale_y) = (Scale::from_rows(&x, 5), Scale::from_rows(&y, 3));
        let mut found = Moments::heldout(&scale_x, &scale_y);
        found.add_rows(&x, &y);
        let mut expected = Moments::heldout(&scale_x, &scale_y);
        let outer = |sums: &mut [f64], a: &[f64], b: &[f64]| {
            let products = a.iter().flat_map(|a| b.iter().map(move |b| a * b));
            sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        };
        for (x, y) in x.chunks(5).zip(y.chunks(3)) {
            let (dx, dy) = (shifted(x, &expected.shift_x), shifted(y, &expected.shift_y));
            expected.n += 1;
            add(&mut expected.sum_x, &dx);
            add(&mut expected.sum_y, &dy);
            outer(&mut expected.xx, &dx, &dx);
            outer(&mut expected.xy, &dx, &dy);
            outer(expected.yy.as_mut().expect("held out"), &dy, &dy);
            expected.yy_diagonal.iter_mut().zip(&dy).for_each(|(sum, y)| *sum += y * y);
            let reach = expected.max_abs_x.iter_mut().zip(x);
            reach.for_each(|(max, x)| *max = max.max(f64::from(x.abs())));
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn merging_is_independent_of_order() {
        let (x, y) = (noise(60 * 4, 3), noise(60 * 2, 4));
        let (scale_x, scale_y) = (Scale::from_rows(&x, 4), Scale::from_rows(&y, 2));
        let part = |rows: std::ops::Range<usize>| {
            let mut moments = Moments::heldout(&scale_x, &scale_y);
            rows.for_each(|row| moments.add_row(&x[row * 4..][..4], &y[row * 2..][..2]));
            moments
        };
        let whole = part(0..60);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let parts = [part(0..10), part(10..35), part(35..60)];
            let mut sum = Moments::heldout(&scale_x, &scale_y);
            order.iter().for_each(|&k| sum.merge(&parts[k]));
            assert_eq!(sum.n, whole.n);
            for (found, expected) in sum.xx.iter().chain(&sum.xy).zip(whole.xx.iter().chain(&whole.xy)) {
                assert!((found - expected).abs() <= 1e-13, "{found} {expected}");
            }
        }
    }
}
