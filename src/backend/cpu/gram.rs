//! Second moments on the CPU: exact in f64, or fast in f32 as on a GPU. \[candle-core\]

use candle_core::{CpuStorage, Result, Storage, Tensor, bail};
use straightedge_simd::{Columns, Pack, Panel, Product};

use super::products::{PanelSums, mirror};
use crate::backend::GramRows;
use crate::job::GramMode;
use crate::platform::parallel;
use crate::stats::moments::{Moments, Scale, power_of_two};
use crate::stats::outlier_rows::OutlierRows;

/// Rows that are packed at a time. Fast products are added up in f32 within them, in blocks of 64 rows: few enough
/// blocks to lose no digits, many enough that adding them to the f64 sums costs next to nothing.
const BAND_ROWS: usize = 256;

/// Second moments of every fold.
pub struct CpuGram {
    mode: GramMode,
    x: ColumnUnits,
    y: ColumnUnits,
    /// `None` until a part of the fold is complete.
    folds: Vec<Option<CpuFold>>,
    /// The fold and part that rows are currently added to, with their sums.
    open: Option<((usize, usize), CpuFold)>,
}

/// Shift of the columns of x or y, and the unit that their values are scaled by.
struct ColumnUnits {
    scale: Scale,
    shift: Vec<f64>,
    unit: Vec<f64>,
}

/// Sums over the rows of one fold.
struct CpuFold {
    n: u64,
    x: ColumnSums,
    y: ColumnSums,
    /// Of xxᵀ and yyᵀ only the tiles on and below the diagonal.
    xx: PanelSums,
    xy: PanelSums,
    yy: Option<PanelSums>,
    /// Rows outside the scale of fast sums.
    outliers: OutlierRows,
}

/// Per column: sum and sum of squares after the shift, and largest magnitude before it.
struct ColumnSums {
    sum: Vec<f64>,
    squares: Vec<f64>,
    largest: Vec<f64>,
}

impl CpuGram {
    /// Empty sums; the last fold is the held-out one.
    pub(super) fn new(mode: GramMode, folds: usize, x: &Scale, y: &Scale) -> Self {
        let folds = (0..folds).map(|_| None).collect();
        Self { mode, x: ColumnUnits::new(mode, x), y: ColumnUnits::new(mode, y), folds, open: None }
    }

    /// The sums of fold and part `of`; closes any other part.
    fn part(&mut self, of: (usize, usize)) -> (&ColumnUnits, &ColumnUnits, &mut CpuFold) {
        if self.open.as_ref().is_none_or(|(open, _)| *open != of) {
            self.close();
        }
        let Self { x, y, folds, open, .. } = self;
        let new = || (of, CpuFold::new(x.scale.cols(), y.scale.cols(), of.0 + 1 == folds.len()));
        (x, y, &mut open.get_or_insert_with(new).1)
    }

    /// Adds the sums of the open part to those of its fold.
    fn close(&mut self) {
        let Self { x, y, folds, open, .. } = self;
        if let Some(((fold, _), part)) = open.take() {
            match &mut folds[fold] {
                Some(sums) => sums.merge(part, x, y),
                none => *none = Some(part),
            }
        }
    }

    /// Adds the rows that are not skipped. Returns false if a value is not finite; the sums are then invalid.
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

    /// Accumulates in f64, where products of f32 values are exact.
    fn add_exact<V: Sync>(&mut self, rows: &GramRows<'_, Tensor>, x: &[V], y: &[V]) -> bool
    where
        f64: Pack<V>,
    {
        let counted = counted(rows, x.len() / self.x.scale.cols());
        let (side_x, side_y, part) = self.part((rows.fold, rows.part));
        part.add::<f64, V>((side_x, x), (side_y, y), &counted)
    }

    /// Accumulates blocks of rows in f32, scaled by powers of two; outlier rows, outside the scale, are added in f64.
    fn add_fast(&mut self, rows: &GramRows<'_, Tensor>, x: &[f32], y: &[f32]) -> bool {
        let (side_x, side_y, part) = self.part((rows.fold, rows.part));
        let (scale_x, scale_y) = (&side_x.scale, &side_y.scale);
        let (d_in, d_out) = (scale_x.cols(), scale_y.cols());
        let row = |index: usize| (&x[index * d_in..][..d_in], &y[index * d_out..][..d_out]);
        let fits = |&index: &usize| {
            let (x, y) = row(index);
            (index, !scale_x.is_outlier(x) && !scale_y.is_outlier(y))
        };
        let counted = parallel::map(&counted(rows, x.len() / d_in), fits);
        let those = |fit: bool| counted.iter().filter(move |row| row.1 == fit).map(|row| row.0);
        for (x, y) in those(false).map(row) {
            if !x.iter().chain(y).all(|value| value.is_finite()) {
                return false;
            }
            part.outliers.push(x, y, || empty(&part.yy, scale_x, scale_y));
        }
        part.add::<f32, f32>((side_x, x), (side_y, y), &those(true).collect::<Vec<_>>())
    }

    /// The moments of every fold, both triangles. Consumes the folds one by one, so that at most one exists twice.
    pub(super) fn moments(mut self) -> Vec<Moments> {
        self.close();
        let Self { x, y, folds, .. } = self;
        let count = folds.len();
        let moments = |(fold, sums): (usize, Option<CpuFold>)| match sums {
            Some(sums) => sums.moments(&x, &y),
            None => Moments::of_fold(&x.scale, &y.scale, fold, count),
        };
        folds.into_iter().enumerate().map(moments).collect()
    }
}

impl ColumnUnits {
    fn new(mode: GramMode, scale: &Scale) -> Self {
        let unit = |&exponent: &i32| match mode {
            GramMode::Exact => 1.0,
            GramMode::Fast => power_of_two(exponent),
        };
        Self { scale: scale.clone(), shift: scale.shifts(), unit: scale.exponent.iter().map(unit).collect() }
    }

    /// Packs the rows `at` of `values`, all columns, in bands of rows.
    fn bands<T: Pack<V> + Send, V: Sync>(&self, values: &[V], at: &[usize]) -> Vec<Vec<Panel<T>>> {
        let columns = Columns { shift: &self.shift, unit: &self.unit };
        parallel::map(&at.chunks(BAND_ROWS).collect::<Vec<_>>(), |at| T::pack(values, at, columns))
    }
}

impl CpuFold {
    fn new(d_in: usize, d_out: usize, heldout: bool) -> Self {
        Self {
            n: 0,
            x: ColumnSums::new(d_in),
            y: ColumnSums::new(d_out),
            xx: PanelSums::square(d_in),
            xy: PanelSums::of(d_in, d_out),
            yy: heldout.then(|| PanelSums::square(d_out)),
            outliers: OutlierRows::default(),
        }
    }

    /// Adds the rows `at`; false if a value is not finite.
    fn add<T: Pack<V> + Send + Sync, V: Sync>(
        &mut self,
        (side_x, x): (&ColumnUnits, &[V]),
        (side_y, y): (&ColumnUnits, &[V]),
        at: &[usize],
    ) -> bool
    where
        f64: Product<T>,
    {
        let (x, y) = parallel::join(|| side_x.bands::<T, V>(x, at), || side_y.bands::<T, V>(y, at));
        let Self { xx, xy, yy, .. } = self;
        let squares = || {
            let of_y = || yy.as_mut().map_or((), |yy| yy.add(&y, &y));
            parallel::join(|| xx.add(&x, &x), of_y)
        };
        // All products in one parallel section, so that threads wait for each other once and not three times.
        parallel::join(|| xy.add(&x, &y), squares);
        x.iter().for_each(|x| self.x.add(x));
        y.iter().for_each(|y| self.y.add(y));
        self.n += at.len() as u64;
        self.x.squares.iter().chain(&self.y.squares).all(|sum| sum.is_finite())
    }

    /// Adds the rows of another part.
    fn merge(&mut self, other: Self, x: &ColumnUnits, y: &ColumnUnits) {
        self.n += other.n;
        self.x.merge(&other.x);
        self.y.merge(&other.y);
        self.xx.merge(&other.xx);
        self.xy.merge(&other.xy);
        if let (Some(yy), Some(more)) = (&mut self.yy, &other.yy) {
            yy.merge(more);
        }
        self.outliers.append(other.outliers, || empty(&self.yy, &x.scale, &y.scale));
    }

    fn moments(&self, x: &ColumnUnits, y: &ColumnUnits) -> Moments {
        let mut moments = Moments {
            n: self.n,
            shift_x: x.shift.clone(),
            shift_y: y.shift.clone(),
            sum_x: self.x.sum.clone(),
            sum_y: self.y.sum.clone(),
            xx: square(&self.xx, &x.unit),
            xy: self.xy.matrix(&x.unit, &y.unit),
            yy_diagonal: self.y.squares.clone(),
            yy: self.yy.as_ref().map(|yy| square(yy, &y.unit)),
            max_abs_x: self.x.largest.clone(),
        };
        if self.outliers.len() > 0 {
            moments.merge(&self.outliers.moments(|| empty(&self.yy, &x.scale, &y.scale)));
        }
        moments
    }
}

/// Moments without rows, with the full yyᵀ if the fold sums it.
fn empty(yy: &Option<PanelSums>, x: &Scale, y: &Scale) -> Moments {
    if yy.is_some() { Moments::heldout(x, y) } else { Moments::training(x, y) }
}

impl ColumnSums {
    fn new(cols: usize) -> Self {
        Self { sum: vec![0.0; cols], squares: vec![0.0; cols], largest: vec![0.0; cols] }
    }

    fn add<T>(&mut self, panels: &[Panel<T>]) {
        let columns = |of: fn(&Panel<T>) -> &[f64]| panels.iter().flat_map(of);
        self.take(columns(|panel| &panel.sum), columns(|panel| &panel.squares), columns(|panel| &panel.largest));
    }

    fn merge(&mut self, other: &Self) {
        self.take(&other.sum, &other.squares, &other.largest);
    }

    fn take<'v>(
        &mut self,
        sum: impl IntoIterator<Item = &'v f64>,
        squares: impl IntoIterator<Item = &'v f64>,
        largest: impl IntoIterator<Item = &'v f64>,
    ) {
        self.sum.iter_mut().zip(sum).for_each(|(sum, more)| *sum += more);
        self.squares.iter_mut().zip(squares).for_each(|(sum, more)| *sum += more);
        self.largest.iter_mut().zip(largest).for_each(|(largest, more)| *largest = largest.max(*more));
    }
}

/// The full symmetric matrix.
fn square(sums: &PanelSums, unit: &[f64]) -> Vec<f64> {
    let mut matrix = sums.matrix(unit, unit);
    mirror(&mut matrix, unit.len());
    matrix
}

/// Indices of the rows that are not skipped: all of a window but its first positions.
fn counted(rows: &GramRows<'_, Tensor>, all: usize) -> Vec<usize> {
    (0..all).filter(|row| row % rows.seq_len >= rows.skip_positions).collect()
}
