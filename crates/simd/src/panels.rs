//! Packs the columns or rows of a matrix into the memory order of the products.

use crate::lanes::for_widest_vectors;
use crate::tiles::{PANEL, Row};

/// Adjacent columns, row by row, with per-column statistics; fewer than [`PANEL`] columns are padded with zeros.
pub struct Panel<T> {
    /// The shifted and scaled values.
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

/// Shift and unit of every column.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// Subtracted from every value of a column.
    pub shift: &'a [f64],
    /// Values are divided by this after the shift.
    pub unit: &'a [f64],
}

/// A number type that panels store for values V.
pub trait Pack<V>: Sized {
    /// Packs all columns of the rows `at` of row-major `values`.
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

/// Conversion from f64 to the nearest number.
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
    // Row by row, because memory is fastest in its own order.
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
                // NaN is skipped here but shows in the squares.
                panel.largest[j] = if value.abs() > panel.largest[j] { value.abs() } else { panel.largest[j] };
            }
            panel.rows.push(Row(row));
        }
    }
    panels.into_iter().map(|(panel, ..)| panel).collect()
}

/// The values, padded with `beyond` to the width of a panel.
fn first_of<V: Copy>(values: &[V], beyond: V) -> [V; PANEL] {
    let mut first = [beyond; PANEL];
    first[..values.len()].copy_from_slice(values);
    first
}

/// Transposes up to [`PANEL`] rows of `width` values into a panel of `width` rows.
#[inline(never)]
pub fn across(rows: &[f32], width: usize) -> Vec<Row<f32>> {
    let mut panel = vec![Row([0.0; PANEL]); width];
    // A few values of every row at a time, so that the written rows of the panel are still in the L1 cache.
    for (index, places) in panel.chunks_mut(NEAR).enumerate() {
        for (column, values) in rows.chunks_exact(width).enumerate().take(PANEL) {
            let values = &values[index * NEAR..];
            places.iter_mut().zip(values).for_each(|(row, value)| row.0[column] = *value);
        }
    }
    panel
}

/// Values of a row per cache line.
const NEAR: usize = 16;
