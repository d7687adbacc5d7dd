//! Second moments on the CPU: f64 sums of exact products, added where they are kept. \[candle-core\]

use candle_core::{CpuStorage, Result, Storage, Tensor, bail};

use crate::backend::GramRows;
use crate::moments::{Moments, Scale};
use crate::parallel;
use crate::products::{add_product, add_square, mirror};

/// Rows that one core takes at a time.
const CHUNK_ROWS: usize = 64;
/// Columns that one core sums up at a time.
const STRIPE: usize = 128;

/// Moments of every fold; of xxᵀ and yyᵀ what lies on and below the diagonal.
pub struct CpuGram {
    folds: Vec<Moments>,
}

impl CpuGram {
    /// No rows yet; the last fold is the held-out one.
    pub(super) fn new(folds: usize, x: &Scale, y: &Scale) -> Self {
        Self { folds: (0..folds).map(|fold| Moments::empty(x, y, fold + 1 == folds)).collect() }
    }

    /// Adds the rows that count. False, with sums that are none, where a value is not finite.
    pub(super) fn add(&mut self, rows: &GramRows<'_, Tensor>) -> Result<bool> {
        let fold = &mut self.folds[rows.fold];
        let x = Columns::new(rows.x, rows, &fold.shift_x)?;
        let y = Columns::new(rows.y, rows, &fold.shift_y)?;
        let (d_in, d_out) = (fold.d_in(), fold.d_out());
        fold.n += (x.shifted.len() / d_in) as u64;
        add_product(&mut fold.xy, &x.shifted, d_in, &y.shifted, d_out);
        add_square(&mut fold.xx, &x.shifted, d_in);
        if let Some(yy) = &mut fold.yy {
            add_square(yy, &y.shifted, d_out);
        }
        let sums = |sums: &mut [f64], more: &[f64]| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        sums(&mut fold.sum_x, &x.sum);
        sums(&mut fold.sum_y, &y.sum);
        sums(&mut fold.yy_diagonal, &y.squares);
        fold.max_abs_x.iter_mut().zip(&x.largest).for_each(|(largest, more)| *largest = largest.max(*more));
        Ok(x.squares.iter().chain(&y.squares).all(|square| square.is_finite()))
    }

    /// The moments of every fold, both triangles.
    pub(super) fn moments(&self) -> Vec<Moments> {
        let mut folds = self.folds.clone();
        for fold in &mut folds {
            let (d_in, d_out) = (fold.d_in(), fold.d_out());
            mirror(&mut fold.xx, d_in);
            if let Some(yy) = &mut fold.yy {
                mirror(yy, d_out);
            }
        }
        folds
    }
}

/// Rows about their shift, and what one pass over them tells of every column.
struct Columns {
    /// Row-major.
    shifted: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
    /// Largest magnitude before the shift.
    largest: Vec<f64>,
}

impl Columns {
    /// The rows of `tensor` that count.
    fn new(tensor: &Tensor, rows: &GramRows<'_, Tensor>, shift: &[f64]) -> Result<Self> {
        let tensor = tensor.contiguous()?;
        let (storage, layout) = tensor.storage_and_layout();
        let counted = Counted { cols: shift.len(), seq_len: rows.seq_len, skip: rows.skip_positions };
        match (&*storage, layout.contiguous_offsets()) {
            (Storage::Cpu(CpuStorage::F32(values)), Some((from, to))) => Ok(counted.shift(&values[from..to], shift)),
            (Storage::Cpu(CpuStorage::F64(values)), Some((from, to))) => Ok(counted.shift(&values[from..to], shift)),
            _ => bail!("second moments are of f32 or f64 values in memory"),
        }
    }
}

/// Which rows count: all of a window but its first positions.
struct Counted {
    cols: usize,
    seq_len: usize,
    skip: usize,
}

impl Counted {
    fn shift<T: Copy + Sync + Into<f64>>(&self, values: &[T], shift: &[f64]) -> Columns {
        let (cols, kept) = (self.cols, self.seq_len - self.skip);
        let windows = values.len() / (self.seq_len * cols);
        let mut shifted = vec![0.0; windows * kept * cols];
        parallel::for_chunks(&mut shifted, CHUNK_ROWS * cols, |chunk, shifted| {
            for (at, shifted) in shifted.chunks_exact_mut(cols).enumerate() {
                let row = chunk * CHUNK_ROWS + at;
                let source = (row / kept * self.seq_len + self.skip + row % kept) * cols;
                let pairs = values[source..source + cols].iter().zip(shift);
                shifted.iter_mut().zip(pairs).for_each(|(shifted, (&value, shift))| *shifted = value.into() - shift);
            }
        });
        let stripes: Vec<usize> = (0..cols).step_by(STRIPE).collect();
        let tallies = parallel::map(&stripes, |&first| Tally::of(&shifted, cols, first, shift));
        let all = |of: fn(&Tally) -> &Vec<f64>| tallies.iter().flat_map(of).copied().collect();
        let (sum, squares) = (all(|tally| &tally.sum), all(|tally| &tally.squares));
        let largest = all(|tally| &tally.largest);
        Columns { shifted, sum, squares, largest }
    }
}

/// What the columns of a stripe come to.
struct Tally {
    sum: Vec<f64>,
    squares: Vec<f64>,
    largest: Vec<f64>,
}

impl Tally {
    fn of(shifted: &[f64], cols: usize, first: usize, shift: &[f64]) -> Self {
        let end = cols.min(first + STRIPE);
        let none = vec![0.0; end - first];
        let mut tally = Self { sum: none.clone(), squares: none.clone(), largest: none };
        for row in shifted.chunks_exact(cols) {
            for (j, (value, shift)) in row[first..end].iter().zip(&shift[first..end]).enumerate() {
                tally.sum[j] += value;
                tally.squares[j] += value * value;
                tally.largest[j] = tally.largest[j].max((value + shift).abs());
            }
        }
        tally
    }
}
