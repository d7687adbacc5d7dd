//! Columns of a matrix, or its rows, in the order in which products read them.

use crate::lanes::for_widest_vectors;
use crate::tiles::{PANEL, Row};

/// Some neighbouring columns, row by row, and what one pass over them tells of every column; where there are fewer than
/// [`PANEL`], the rest is zero.
pub struct Panel<T> {
    /// What is kept of every row.
    pub rows: Vec<Row<T>>,
    /// Sum of every column about its shift.
    pub sum: [f64; PANEL],
    /// Sum of the squares of every column about its shift.
    pub squares: [f64; PANEL],
    /// Largest magnitude of every column, before the shift.
    pub largest: [f64; PANEL],
}

impl<T> AsRef<[Row<T>]> for Panel<T> {
    fn as_ref(&self) -> &[Row<T>] {
        &self.rows
    }
}

/// What is subtracted from every column, and in what unit the rest is kept.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// Subtracted from every value, for each column.
    pub shift: &'a [f64],
    /// What is left is kept in units of this, for each column.
    pub unit: &'a [f64],
}

/// A number that panels keep of values V.
pub trait Pack<V>: Sized {
    /// All columns of the rows of `values`, row-major, that `at` tells.
    fn pack(values: &[V], at: &[usize], columns: Columns<'_>) -> Vec<Panel<Self>>;
}

macro_rules! pack {
    ($kept:ty, $value:ty) => {
        impl Pack<$value> for $kept {
            fn pack(values: &[$value], at: &[usize], columns: Columns<'_>) -> Vec<Panel<Self>> {
                for_widest_vectors! {
                    fn of(values: &[$value], at: &[usize], columns: Columns<'_>) -> Vec<Panel<$kept>> {
                        pack(values, at, columns)
                    }
                }
                of(values, at, columns)
            }
        }
    };
}

pack!(f64, f64);
pack!(f64, f32);
pack!(f32, f32);

/// A number as near to one of f64 as it can be.
trait Near: Copy + Default {
    fn near(value: f64) -> Self;
}

impl Near for f64 {
    #[inline(always)]
    fn near(value: f64) -> Self {
        value
    }
}

impl Near for f32 {
    #[inline(always)]
    fn near(value: f64) -> Self {
        value as Self
    }
}

#[inline(always)]
fn pack<V: Copy + Default + Into<f64>, T: Near>(
    values: &[V],
    at: &[usize],
    Columns { shift, unit }: Columns<'_>,
) -> Vec<Panel<T>> {
    let none = [0.0; PANEL];
    let panel = |(shift, unit): (&[f64], &[f64])| {
        let panel = Panel { rows: Vec::with_capacity(at.len()), sum: none, squares: none, largest: none };
        (panel, first_of(shift, 0.0), first_of(unit, 1.0).map(f64::recip))
    };
    let mut panels: Vec<_> = shift.chunks(PANEL).zip(unit.chunks(PANEL)).map(panel).collect();
    // Row after row, for memory is read fastest in its own order.
    for index in at {
        let values = &values[index * shift.len()..][..shift.len()];
        for (values, (panel, shift, per_unit)) in values.chunks(PANEL).zip(&mut panels) {
            let values = values.first_chunk().copied().unwrap_or_else(|| first_of(values, V::default()));
            let mut row = [T::default(); PANEL];
            for j in 0..PANEL {
                let value: f64 = values[j].into();
                let shifted = value - shift[j];
                row[j] = T::near(shifted * per_unit[j]);
                panel.sum[j] += shifted;
                panel.squares[j] += shifted * shifted;
                // NaN is none, but has told on the squares.
                panel.largest[j] = if value.abs() > panel.largest[j] { value.abs() } else { panel.largest[j] };
            }
            panel.rows.push(Row(row));
        }
    }
    panels.into_iter().map(|(panel, ..)| panel).collect()
}

/// As many values as a panel has columns; where there are fewer, the rest is `beyond`.
fn first_of<V: Copy>(values: &[V], beyond: V) -> [V; PANEL] {
    let mut first = [beyond; PANEL];
    first[..values.len()].copy_from_slice(values);
    first
}

/// Up to [`PANEL`] rows of `width` values each as the columns of a panel of `width` rows.
#[inline(never)]
pub fn across(rows: &[f32], width: usize) -> Vec<Row<f32>> {
    let mut panel = vec![Row([0.0; PANEL]); width];
    // Some values of every row at a time, so that what is written of a row of the panel is still in the first cache.
    for (index, places) in panel.chunks_mut(NEAR).enumerate() {
        for (column, values) in rows.chunks_exact(width).enumerate().take(PANEL) {
            let values = &values[index * NEAR..];
            places.iter_mut().zip(values).for_each(|(row, value)| row.0[column] = *value);
        }
    }
    panel
}

/// Values of a row that lie in one line of a cache.
const NEAR: usize = 16;
