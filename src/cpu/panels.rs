//! Rows of x or of y in the order in which products read them, and what one pass over them tells of every column.

use straightedge_arithmetic::{PANEL, Row};

use super::products::Panels;
use crate::parallel;

/// Some neighbouring columns, row by row; where there are fewer, the rest is zero.
pub(super) struct Panel<T> {
    rows: Vec<Row<T>>,
    /// Sum of every column about its shift.
    pub(super) sum: Row<f64>,
    /// Sum of the squares of every column about its shift.
    pub(super) squares: Row<f64>,
    /// Largest magnitude of every column, before the shift.
    pub(super) largest: Row<f64>,
}

impl<T: Sync> Panels<T> for Panel<T> {
    fn rows(&self) -> &[Row<T>] {
        &self.rows
    }
}

impl<T: Copy + Default + Send> Panel<T> {
    /// The rows of `values`, row-major, that `at` tells; a panel holds `kept(column, value − shift)`.
    pub(super) fn all<V: Copy + Into<f64> + Sync>(
        at: &[usize],
        values: &[V],
        shift: &[f64],
        kept: impl Fn(usize, f64) -> T + Send + Sync,
    ) -> Vec<Self> {
        let first: Vec<usize> = (0..shift.len()).step_by(PANEL).collect();
        parallel::map(&first, |&first| Self::of(at, values, shift, first, &kept))
    }

    fn of<V: Copy + Into<f64>>(
        at: &[usize],
        values: &[V],
        shift: &[f64],
        first: usize,
        kept: impl Fn(usize, f64) -> T,
    ) -> Self {
        let (all, cols) = (shift.len(), PANEL.min(shift.len() - first));
        let none = [0.0; PANEL];
        let rows = vec![[T::default(); PANEL]; at.len()];
        let mut panel = Self { rows, sum: none, squares: none, largest: none };
        for (row, index) in panel.rows.iter_mut().zip(at) {
            let values = &values[index * all + first..][..cols];
            for (j, (&value, shift)) in values.iter().zip(&shift[first..]).enumerate() {
                let value = value.into();
                let shifted = value - shift;
                row[j] = kept(first + j, shifted);
                panel.sum[j] += shifted;
                panel.squares[j] += shifted * shifted;
                panel.largest[j] = panel.largest[j].max(value.abs());
            }
        }
        panel
    }
}
