//! Outlier rows, outside the scale of a block's columns: they bypass the scaled sums and are added in f64.

use crate::stats::moments::Moments;

/// Outlier rows, kept as they are until their sums take less memory.
#[derive(Default)]
pub(crate) struct OutlierRows {
    /// Number of rows kept.
    kept: usize,
    /// Their x, row-major.
    x: Vec<f32>,
    /// Their y, row-major.
    y: Vec<f32>,
    summed: Option<Moments>,
}

impl OutlierRows {
    /// Number of rows so far.
    pub(crate) fn len(&self) -> u64 {
        self.kept as u64 + self.summed.as_ref().map_or(0, |moments| moments.n)
    }

    /// Adds a row. `empty` creates moments without rows, for when the kept rows take more memory than their sums.
    pub(crate) fn push(&mut self, x: &[f32], y: &[f32], empty: impl FnOnce() -> Moments) {
        if self.kept >= 2 * x.len() {
            *self = Self { summed: Some(self.moments(empty)), ..Self::default() };
        }
        self.kept += 1;
        self.x.extend_from_slice(x);
        self.y.extend_from_slice(y);
    }

    /// Appends the rows of `other`.
    pub(crate) fn append(&mut self, other: Self, empty: impl Fn() -> Moments) {
        if other.len() > 0 {
            let mut moments = self.moments(&empty);
            moments.merge(&other.moments(&empty));
            *self = Self { summed: Some(moments), ..Self::default() };
        }
    }

    /// The sums of all rows in order, independent of when rows were summed.
    pub(crate) fn moments(&self, empty: impl FnOnce() -> Moments) -> Moments {
        let mut moments = self.summed.clone().unwrap_or_else(empty);
        moments.add_rows(&self.x, &self.y);
        moments
    }
}
