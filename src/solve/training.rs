//! The rows that a fit trains on: sums over folds, computed when needed and never stored as a whole.

use faer::Mat;

use crate::stats::moments::Moments;

/// A column whose standard deviation is below this share of its largest magnitude is constant to f32 precision.
pub(super) const CONSTANT: f64 = 1.0 / (1 << 22) as f64;

/// Rows of one or more folds under the same shifts.
pub(super) struct TrainingMoments<'a> {
    parts: Vec<&'a Moments>,
    /// Rows.
    pub(super) n: f64,
    /// Mean of the shifted x, d_in.
    pub(super) mean_x: Vec<f64>,
    /// Mean of the shifted y, d_out.
    pub(super) mean_y: Vec<f64>,
    /// Population variance of every x_j.
    pub(super) variance_x: Vec<f64>,
    /// Population variance of every y_j.
    pub(super) variance_y: Vec<f64>,
    /// Largest |x| per column, unshifted, d_in.
    pub(super) max_abs_x: Vec<f64>,
}

impl<'a> TrainingMoments<'a> {
    /// Combines these folds, at least one.
    pub(super) fn new(parts: Vec<&'a Moments>) -> Self {
        let first = parts[0];
        let same = |fold: &&Moments| fold.shift_x == first.shift_x && fold.shift_y == first.shift_y;
        assert!(parts.iter().all(same), "moments under different shifts");
        let n = parts.iter().map(|fold| fold.n).sum::<u64>() as f64;
        let mean = |of: fn(&Moments) -> &[f64]| summed(&parts, of).into_iter().map(|sum| sum / n).collect::<Vec<_>>();
        let (mean_x, mean_y) = (mean(|fold| &fold.sum_x), mean(|fold| &fold.sum_y));
        let variance = |squares: Vec<f64>, means: &[f64]| {
            squares.into_iter().zip(means).map(|(sum, mean)| (sum / n - mean * mean).max(0.0)).collect()
        };
        let (d_in, d_out) = (first.d_in(), first.d_out());
        let squares_x = (0..d_in).map(|j| parts.iter().map(|fold| fold.xx[j * (d_in + 1)]).sum()).collect();
        let squares_y = (0..d_out).map(|j| parts.iter().map(|fold| fold.yy_diagonal[j]).sum()).collect();
        let (variance_x, variance_y) = (variance(squares_x, &mean_x), variance(squares_y, &mean_y));
        let largest = |j: usize| parts.iter().map(|fold| fold.max_abs_x[j]).fold(0.0, f64::max);
        let max_abs_x = (0..d_in).map(largest).collect();
        Self { n, mean_x, mean_y, variance_x, variance_y, max_abs_x, parts }
    }

    /// All folds but the held-out one.
    pub(super) fn all_but(folds: &'a [Moments], heldout: usize) -> Self {
        Self::new(folds.iter().enumerate().filter(|(fold, _)| *fold != heldout).map(|(_, moments)| moments).collect())
    }

    /// Width of x.
    pub(super) fn d_in(&self) -> usize {
        self.mean_x.len()
    }

    /// Width of y.
    pub(super) fn d_out(&self) -> usize {
        self.mean_y.len()
    }

    /// Mean of x in raw units.
    pub(super) fn raw_mean_x(&self) -> Vec<f64> {
        self.mean_x.iter().zip(&self.parts[0].shift_x).map(|(mean, shift)| mean + shift).collect()
    }

    /// Mean of y in raw units.
    pub(super) fn raw_mean_y(&self) -> Vec<f64> {
        self.mean_y.iter().zip(&self.parts[0].shift_y).map(|(mean, shift)| mean + shift).collect()
    }

    /// 1/σ_j, or 0 for a column that is constant to f32 precision.
    pub(super) fn inverse_deviations(&self) -> Vec<f64> {
        let deviations = self.variance_x.iter().map(|variance| variance.sqrt());
        deviations
            .zip(&self.max_abs_x)
            .map(|(sigma, max)| if sigma <= CONSTANT * max { 0.0 } else { sigma.recip() })
            .collect()
    }

    /// The lower triangle of diag(scale)·Cov(x)·diag(scale) over `columns`, ascending; zero above the diagonal.
    pub(super) fn covariance(&self, columns: &[usize], scale: &[f64]) -> Mat<f64> {
        let (d, mean) = (self.d_in(), &self.mean_x);
        let mut covariance = Mat::zeros(columns.len(), columns.len());
        let mut sums = vec![0.0; d];
        for (q, &b) in columns.iter().enumerate() {
            // Symmetric, so columns are read as rows.
            add_up(&mut sums[b..], self.parts.iter().map(|fold| &fold.xx[b * d + b..(b + 1) * d]));
            let (sums, column) = (&sums, covariance.col_mut(q));
            let below = column.iter_mut().zip(columns.iter().zip(scale)).skip(q);
            below.for_each(|(entry, (&a, scale_a))| {
                *entry = (sums[a] / self.n - mean[a] * mean[b]) * scale_a * scale[q];
            });
        }
        covariance
    }

    /// Cov(x_i, y_j).
    pub(super) fn covariance_xy(&self, i: usize, j: usize) -> f64 {
        let sum: f64 = self.parts.iter().map(|fold| fold.xy[i * self.d_out() + j]).sum();
        sum / self.n - self.mean_x[i] * self.mean_y[j]
    }

    /// Cov(y, x)·diag(scale) over `columns` of x: d_out × columns.
    pub(super) fn cross(&self, columns: &[usize], scale: &[f64]) -> Mat<f64> {
        let d_out = self.d_out();
        let mut cross = Mat::zeros(d_out, columns.len());
        let mut sums = vec![0.0; d_out];
        for (q, &a) in columns.iter().enumerate() {
            add_up(&mut sums, self.parts.iter().map(|fold| &fold.xy[a * d_out..(a + 1) * d_out]));
            let entries = cross.col_mut(q).iter_mut().zip(sums.iter().zip(&self.mean_y));
            entries.for_each(|(entry, (sum, mean_y))| *entry = scale[q] * (sum / self.n - self.mean_x[a] * mean_y));
        }
        cross
    }
}

impl<'a> From<&'a Moments> for TrainingMoments<'a> {
    fn from(moments: &'a Moments) -> Self {
        Self::new(vec![moments])
    }
}

fn summed(parts: &[&Moments], of: fn(&Moments) -> &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; of(parts[0]).len()];
    add_up(&mut sum, parts.iter().map(|fold| of(fold)));
    sum
}

/// The element-wise sum of lists of equal length, in order.
fn add_up<'a>(sum: &mut [f64], mut lists: impl Iterator<Item = &'a [f64]>) {
    if let Some(first) = lists.next() {
        sum.copy_from_slice(first);
    }
    lists.for_each(|list| sum.iter_mut().zip(list).for_each(|(sum, value)| *sum += value));
}
