//! Columns of a matrix, or its rows, in the order in which products read them.

use crate::lanes::with_vectors;
use crate::tiles::{PANEL, Row};

/// Some neighbouring columns, row by row, and what one pass over them tells of every column; where there are fewer than
/// [`PANEL`], the rest is zero.
pub struct Panel<T> {
    /// What is kept of every row.
    pub rows: Vec<Row<T>>,
    /// Sum of every column about its shift.
    pub sum: Row<f64>,
    /// Sum of the squares of every column about its shift.
    pub squares: Row<f64>,
    /// Largest magnitude of every column, before the shift.
    pub largest: Row<f64>,
}

impl<T> AsRef<[Row<T>]> for Panel<T> {
    fn as_ref(&self) -> &[Row<T>] {
        &self.rows
    }
}

/// Columns of a panel, beginning with `first`.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The first one.
    pub first: usize,
    /// Subtracted from every value, for each column of the matrix.
    pub shift: &'a [f64],
    /// What is left is kept in units of this, for each column of the matrix.
    pub unit: &'a [f64],
}

/// A number that panels keep of values V.
pub trait Pack<V>: Sized {
    /// The rows of `values`, row-major, that `at` tells.
    fn pack(values: &[V], at: &[usize], columns: Columns<'_>) -> Panel<Self>;
}

macro_rules! pack {
    ($kept:ty, $value:ty) => {
        impl Pack<$value> for $kept {
            #[inline(never)]
            fn pack(values: &[$value], at: &[usize], columns: Columns<'_>) -> Panel<Self> {
                with_vectors(|| pack(values, at, columns, |value| value as $kept))
            }
        }
    };
}

pack!(f64, f64);
pack!(f64, f32);
pack!(f32, f32);

#[inline(always)]
fn pack<V: Copy + Default + Into<f64>, T: Copy + Default>(
    values: &[V],
    at: &[usize],
    Columns { first, shift, unit }: Columns<'_>,
    kept: impl Fn(f64) -> T,
) -> Panel<T> {
    let (all, cols) = (shift.len(), PANEL.min(shift.len() - first));
    let column = |of: &[f64], beyond| std::array::from_fn(|j| of.get(first + j).copied().unwrap_or(beyond));
    let (shift, unit): (Row<f64>, Row<f64>) = (column(shift, 0.0), column(unit, 1.0));
    let per_unit = unit.map(f64::recip);
    let none = [0.0; PANEL];
    let mut panel = Panel { rows: vec![[T::default(); PANEL]; at.len()], sum: none, squares: none, largest: none };
    let mut padded = [V::default(); PANEL];
    for (row, index) in panel.rows.iter_mut().zip(at) {
        let values = &values[index * all + first..][..cols];
        let values = values.first_chunk().unwrap_or_else(|| {
            padded[..cols].copy_from_slice(values);
            &padded
        });
        for j in 0..PANEL {
            let value: f64 = values[j].into();
            let shifted = value - shift[j];
            row[j] = kept(shifted * per_unit[j]);
            panel.sum[j] += shifted;
            panel.squares[j] += shifted * shifted;
            // NaN is none, but has told on the squares.
            panel.largest[j] = if value.abs() > panel.largest[j] { value.abs() } else { panel.largest[j] };
        }
    }
    panel
}

/// Up to [`PANEL`] rows of `width` values each as the columns of a panel of `width` rows.
#[inline(never)]
pub fn across(rows: &[f32], width: usize) -> Vec<Row<f32>> {
    let mut panel = vec![[0.0; PANEL]; width];
    for (column, values) in rows.chunks_exact(width).enumerate().take(PANEL) {
        panel.iter_mut().zip(values).for_each(|(row, value)| row[column] = *value);
    }
    panel
}
