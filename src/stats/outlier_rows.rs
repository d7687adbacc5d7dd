//! Rows outside the scale of a block's columns, on the way around sums that hold only what is within: in f64.

use crate::stats::moments::Moments;

/// Few rows: kept as they are until summing them takes less memory.
#[derive(Default)]
pub(crate) struct OutlierRows {
    /// Rows kept.
    kept: usize,
    /// Their x, row-major.
    x: Vec<f32>,
    /// Their y, row-major.
    y: Vec<f32>,
    summed: Option<Moments>,
}

impl OutlierRows {
    /// Rows so far.
    pub(crate) fn len(&self) -> u64 {
        self.kept as u64 + self.summed.as_ref().map_or(0, |moments| moments.n)
    }

    /// Keeps one more row. `empty` gives moments without rows, for when those kept take more memory than their sums.
    pub(crate) fn push(&mut self, x: &[f32], y: &[f32], empty: impl FnOnce() -> Moments) {
        if self.kept >= 2 * x.len() {
            *self = Self { summed: Some(self.moments(empty)), ..Self::default() };
        }
        self.kept += 1;
        self.x.extend_from_slice(x);
        self.y.extend_from_slice(y);
    }

    /// Takes in the rows of `other` after its own.
    pub(crate) fn append(&mut self, other: Self, empty: impl Fn() -> Moments) {
        if other.len() > 0 {
            let mut moments = self.moments(&empty);
            moments.merge(&other.moments(&empty));
            *self = Self { summed: Some(moments), ..Self::default() };
        }
    }

    /// The sums of all rows in their order, however many were summed up on the way.
    pub(crate) fn moments(&self, empty: impl FnOnce() -> Moments) -> Moments {
        let mut moments = self.summed.clone().unwrap_or_else(empty);
        moments.add_rows(&self.x, &self.y);
        moments
    }
}
