//! Second moments on the CPU: exact products in f64, or fast ones in f32 as on a GPU. \[candle-core\]

use candle_core::{CpuStorage, Result, Storage, Tensor, bail};
use straightedge_arithmetic::{Columns, PANEL, Pack, Panel, Product};

use super::products::{add_product, add_square, mirror};
use crate::backend::GramRows;
use crate::job::GramMode;
use crate::moments::{Moments, Scale, power_of_two};
use crate::parallel;
use crate::side_path::SidePath;

/// Second moments of every fold.
pub struct CpuGram {
    mode: GramMode,
    x: Scale,
    y: Scale,
    folds: Vec<Fold>,
}

struct Fold {
    /// Of xxᵀ and yyᵀ the panels on and below the diagonal. Fast products are in units of their columns' scales.
    sums: Moments,
    /// Rows that fast sums have no room for.
    outside: SidePath,
}

impl CpuGram {
    /// No rows yet; the last fold is the held-out one.
    pub(super) fn new(mode: GramMode, folds: usize, x: &Scale, y: &Scale) -> Self {
        let fold = |fold| Fold { sums: Moments::empty(x, y, fold + 1 == folds), outside: SidePath::default() };
        Self { mode, x: x.clone(), y: y.clone(), folds: (0..folds).map(fold).collect() }
    }

    /// Adds the rows that count. False, with sums that are none, where a value is not finite.
    pub(super) fn add(&mut self, rows: &GramRows<'_, Tensor>) -> Result<bool> {
        let (x, y) = (rows.x.contiguous()?, rows.y.contiguous()?);
        let (x, y) = (x.storage_and_layout(), y.storage_and_layout());
        let ends = (x.1.contiguous_offsets(), y.1.contiguous_offsets());
        match ((&*x.0, &*y.0), ends) {
            ((Storage::Cpu(CpuStorage::F32(x)), Storage::Cpu(CpuStorage::F32(y))), (Some(of_x), Some(of_y))) => {
                let (x, y) = (&x[of_x.0..of_x.1], &y[of_y.0..of_y.1]);
                Ok(match self.mode {
                    GramMode::Exact => self.add_exact(rows, x, y),
                    GramMode::Fast => self.add_fast(rows, x, y),
                })
            }
            ((Storage::Cpu(CpuStorage::F64(x)), Storage::Cpu(CpuStorage::F64(y))), (Some(of_x), Some(of_y))) => {
                Ok(self.add_exact(rows, &x[of_x.0..of_x.1], &y[of_y.0..of_y.1]))
            }
            _ => bail!("second moments are of f32 or f64 values in memory"),
        }
    }

    /// Sums in f64, where products of f32 values are exact.
    fn add_exact<V: Sync>(&mut self, rows: &GramRows<'_, Tensor>, x: &[V], y: &[V]) -> bool
    where
        f64: Pack<V>,
    {
        let sums = &mut self.folds[rows.fold].sums;
        let counted = counted(rows, x.len() / sums.d_in());
        let (x, y) = parallel::join(
            || panels::<f64, V>(x, &counted, &sums.shift_x, &vec![1.0; sums.d_in()]),
            || panels::<f64, V>(y, &counted, &sums.shift_y, &vec![1.0; sums.d_out()]),
        );
        add(sums, counted.len(), &x, &y)
    }

    /// Blocks of rows in f32, scaled by powers of two; rows outside the scale take the side path.
    fn add_fast(&mut self, rows: &GramRows<'_, Tensor>, x: &[f32], y: &[f32]) -> bool {
        let Self { x: scale_x, y: scale_y, folds, .. } = self;
        let heldout = rows.fold + 1 == folds.len();
        let Fold { sums, outside } = &mut folds[rows.fold];
        let (d_in, d_out) = (sums.d_in(), sums.d_out());
        let row = |index: usize| (&x[index * d_in..][..d_in], &y[index * d_out..][..d_out]);
        let fits = |&index: &usize| {
            let (x, y) = row(index);
            (index, !scale_x.is_outside(x) && !scale_y.is_outside(y))
        };
        let counted = parallel::map(&counted(rows, x.len() / d_in), fits);
        let those = |fit: bool| counted.iter().filter(move |row| row.1 == fit).map(|row| row.0);
        let inside: Vec<usize> = those(true).collect();
        for (x, y) in those(false).map(row) {
            if !x.iter().chain(y).all(|value| value.is_finite()) {
                return false;
            }
            outside.push(x, y, || Moments::empty(scale_x, scale_y, heldout));
        }
        let unit = |scale: &Scale| -> Vec<f64> { scale.exponent.iter().copied().map(power_of_two).collect() };
        let (x, y) = parallel::join(
            || panels::<f32, f32>(x, &inside, &sums.shift_x, &unit(scale_x)),
            || panels::<f32, f32>(y, &inside, &sums.shift_y, &unit(scale_y)),
        );
        add(sums, inside.len(), &x, &y)
    }

    /// The moments of every fold, both triangles.
    pub(super) fn moments(&self) -> Vec<Moments> {
        let heldout = self.folds.len() - 1;
        self.folds.iter().enumerate().map(|(fold, sums)| self.fold_moments(sums, fold == heldout)).collect()
    }

    fn fold_moments(&self, fold: &Fold, heldout: bool) -> Moments {
        let mut moments = fold.sums.clone();
        let (d_in, d_out) = (moments.d_in(), moments.d_out());
        mirror(&mut moments.xx, d_in);
        if let Some(yy) = &mut moments.yy {
            mirror(yy, d_out);
        }
        if self.mode == GramMode::Fast {
            let (x, y) = (&self.x.exponent, &self.y.exponent);
            in_raw_units(&mut moments.xx, x, x);
            in_raw_units(&mut moments.xy, x, y);
            if let Some(yy) = &mut moments.yy {
                in_raw_units(yy, y, y);
            }
        }
        if fold.outside.len() > 0 {
            moments.merge(&fold.outside.moments(|| Moments::empty(&self.x, &self.y, heldout)));
        }
        moments
    }
}

/// Which of `all` rows count: all of a window but its first positions.
fn counted(rows: &GramRows<'_, Tensor>, all: usize) -> Vec<usize> {
    (0..all).filter(|row| row % rows.seq_len >= rows.skip_positions).collect()
}

/// All columns of the rows of `values` that `at` tells, about their shifts and in their units.
fn panels<T: Pack<V> + Send, V: Sync>(values: &[V], at: &[usize], shift: &[f64], unit: &[f64]) -> Vec<Panel<T>> {
    let first: Vec<usize> = (0..shift.len()).step_by(PANEL).collect();
    parallel::map(&first, |&first| T::pack(values, at, Columns { first, shift, unit }))
}

/// Adds `n` rows; false where a value is not finite.
fn add<T: Sync>(to: &mut Moments, n: usize, x: &[Panel<T>], y: &[Panel<T>]) -> bool
where
    f64: Product<T>,
{
    let (d_in, d_out) = (to.d_in(), to.d_out());
    to.n += n as u64;
    let Moments { xx, xy, yy, .. } = to;
    let squares = || {
        let of_y = || yy.as_mut().map_or((), |yy| add_square(yy, y, d_out));
        parallel::join(|| add_square(xx, x, d_in), of_y)
    };
    // All at once, so that threads wait for each other at one end and not at three.
    parallel::join(|| add_product((xy, d_out), x, (y, 0)), squares);
    let sum = |sums: &mut [f64], more: Vec<f64>| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    sum(&mut to.sum_x, x.iter().flat_map(|panel| panel.sum).collect());
    sum(&mut to.sum_y, y.iter().flat_map(|panel| panel.sum).collect());
    sum(&mut to.yy_diagonal, y.iter().flat_map(|panel| panel.squares).collect());
    let largest = x.iter().flat_map(|panel| panel.largest);
    to.max_abs_x.iter_mut().zip(largest).for_each(|(largest, more)| *largest = largest.max(more));
    x.iter().chain(y).flat_map(|panel| panel.squares).all(f64::is_finite)
}

/// Products in units of both columns' scales as what they are.
fn in_raw_units(products: &mut [f64], rows: &[i32], cols: &[i32]) {
    for (products, row) in products.chunks_exact_mut(cols.len()).zip(rows) {
        products.iter_mut().zip(cols).for_each(|(product, col)| *product *= power_of_two(row + col));
    }
}
