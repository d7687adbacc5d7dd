//! Second moments of a block's rows on the device: quantise, multiply, add up, and read back.
//!
//! Rows with a value outside their column's scale contribute nothing on the device. The next [`settle`] finds them by
//! their flags, copies them back one by one and adds them in f64 ([`OutlierRows`]).

use std::rc::Rc;

use super::choice::KernelChoice;
use super::device::{Buffer, Engine, Incoming, Span, Tensor};
use super::kernels::exact::{BLOCK_ROWS, Form};
use super::kernels::gram::{MARK_OUTLIERS, QUANTISE, QuantiseParams, SUM_COLUMNS};
use super::products::{Digits, GramSums, padded};
use super::quantise::flushed;
use super::sums::{self, DeviceSums, MAX_ROWS, Readback};
use crate::backend::{GramRows, GramShape, Shape};
use crate::error::{Error, Result};
use crate::stats::moments::{Moments, Scale, power_of_two};
use crate::stats::outlier_rows::OutlierRows;

/// Cost of one element in the quantisation, in floating-point operations of a matrix product.
const FLOPS_PER_ELEMENT: f64 = 64.0;

/// Accumulated second moments of one block, fold by fold.
pub struct GpuGram {
    shape: GramShape,
    x: DeviceScale,
    y: DeviceScale,
    folds: Vec<GpuFold>,
    /// Oldest first.
    pending: Vec<UnsettledBatch>,
    /// Rows after which the sums are carried.
    carry_rows: u64,
}

/// The scale of x or y, on the host and on the device.
struct DeviceScale {
    scale: Scale,
    scales: Rc<Buffer>,
}

/// Sums of one fold.
struct GpuFold {
    /// Rows accumulated, including those outside the scale.
    rows: u64,
    x: GpuColumnSums,
    y: GpuColumnSums,
    xx: GramSums,
    xy: GramSums,
    yy: Option<GramSums>,
    outliers: OutlierRows,
}

/// Sums by column.
struct GpuColumnSums {
    /// Σq and Σq² of every column.
    sums: DeviceSums,
    /// Bits of the largest |x|.
    largest: Rc<Buffer>,
}

/// A batch whose rows outside the scale have not been collected yet.
struct UnsettledBatch {
    block: usize,
    fold: usize,
    first_row: usize,
    x: Tensor,
    y: Tensor,
    /// Flags of rows outside the scale, on their way to the host.
    flags: Incoming,
}

impl DeviceScale {
    fn new(engine: &Engine, scale: &Scale, cols: usize) -> Result<Self> {
        let usable = |shift: &f32| shift.is_finite();
        if scale.shift.len() != cols || scale.exponent.len() != cols || !scale.shift.iter().all(usable) {
            let why = format!("its scale has {} columns of {cols}, or one that is not finite", scale.shift.len());
            return Err(Error::Gpu { what: "accumulating second moments".into(), why });
        }
        let shift: Vec<f32> = scale.shift.iter().map(|shift| flushed(*shift)).collect();
        let words: Vec<u32> = shift
            .iter()
            .zip(&scale.exponent)
            .flat_map(|(shift, exponent)| [shift.to_bits(), exponent.cast_unsigned()])
            .collect();
        let scales = engine.input(bytemuck::cast_slice(&words));
        Ok(Self { scale: Scale { shift, exponent: scale.exponent.clone() }, scales })
    }

    fn cols(&self) -> usize {
        self.scale.shift.len()
    }

    /// Value of the integer 1 in each column.
    fn units(&self) -> Vec<f64> {
        self.scale.exponent.iter().map(|exponent| power_of_two(exponent - 23)).collect()
    }
}

impl GpuGram {
    pub(super) fn new(
        engine: &Engine,
        shape: GramShape,
        x: &Scale,
        y: &Scale,
        carry_rows: Option<u64>,
    ) -> Result<Self> {
        let fold = |fold| {
            Ok(GpuFold {
                rows: 0,
                x: GpuColumnSums::new(engine, shape.d_in)?,
                y: GpuColumnSums::new(engine, shape.d_out)?,
                xx: GramSums::symmetric(engine, "Σxxᵀ", shape.d_in)?,
                xy: GramSums::new(engine, "Σxyᵀ", shape.d_in, shape.d_out)?,
                yy: (fold + 1 == shape.folds).then(|| GramSums::symmetric(engine, "Σyyᵀ", shape.d_out)).transpose()?,
                outliers: OutlierRows::default(),
            })
        };
        Ok(Self {
            x: DeviceScale::new(engine, x, shape.d_in)?,
            y: DeviceScale::new(engine, y, shape.d_out)?,
            folds: (0..shape.folds).map(fold).collect::<Result<_>>()?,
            pending: Vec::new(),
            carry_rows: carry_rows.unwrap_or(MAX_ROWS),
            shape,
        })
    }

    /// Records the work of one batch.
    pub(super) fn accumulate(
        &mut self,
        engine: &Engine,
        choice: &KernelChoice,
        rows: GramRows<'_, Tensor>,
    ) -> Result<()> {
        let count = rows.x.shape.rows;
        let fits = rows.x.shape.cols == self.shape.d_in
            && rows.y.shape.cols == self.shape.d_out
            && rows.y.shape.rows == count
            && rows.fold < self.folds.len()
            && count.is_multiple_of(rows.seq_len)
            && count as u64 <= self.carry_rows;
        if !fits {
            let why = format!("x {:?} and y {:?} do not belong to {:?}", rows.x.shape, rows.y.shape, self.shape);
            return Err(Error::Gpu { what: "accumulating second moments".into(), why });
        }
        let flags = engine.cleared(4 * count as u64);
        let fold = &mut self.folds[rows.fold];
        let form = choice.form(self.shape.mode);
        let x = BatchSide { engine, choice, side: &self.x, values: rows.x, flags: &flags, rows: &rows, form };
        let y = BatchSide { side: &self.y, values: rows.y, ..x };
        x.mark_outliers()?;
        y.mark_outliers()?;
        let x_digits = x.quantise(&fold.x, self.carry_rows)?;
        let y_digits = y.quantise(&fold.y, self.carry_rows)?;
        fold.xx.add(engine, choice, &x_digits, &x_digits, self.carry_rows);
        fold.xy.add(engine, choice, &x_digits, &y_digits, self.carry_rows);
        if let Some(yy) = &fold.yy {
            yy.add(engine, choice, &y_digits, &y_digits, self.carry_rows);
        }
        fold.rows += (count / rows.seq_len * (rows.seq_len - rows.skip_positions)) as u64;
        self.pending.push(UnsettledBatch {
            block: rows.block,
            fold: rows.fold,
            first_row: rows.first_row,
            x: rows.x.clone(),
            y: rows.y.clone(),
            flags: engine.request_all(&flags),
        });
        Ok(())
    }

    /// Second moments of every fold: sums on the device plus outlier rows.
    pub(super) async fn moments(&self, engine: &Engine) -> Result<Vec<Moments>> {
        let empty = |fold: &GpuFold| match fold.yy {
            Some(_) => Moments::heldout(&self.x.scale, &self.y.scale),
            None => Moments::training(&self.x.scale, &self.y.scale),
        };
        let mut folds: Vec<Moments> = self.folds.iter().map(empty).collect();
        let units = [&self.x, &self.y].map(DeviceScale::units);
        let readings = self.folds.iter().zip(&mut folds).flat_map(|(fold, to)| fold.readings(&units, to));
        // Read back at once, because in some browsers every wait takes a tenth of a second.
        sums::read(engine, readings.collect()).await?;
        for (fold, moments) in self.folds.iter().zip(&mut folds) {
            moments.n = fold.rows - fold.outliers.len();
            if fold.outliers.len() > 0 {
                moments.merge(&fold.outliers.moments(|| empty(fold)));
            }
        }
        Ok(folds)
    }
}

impl GpuFold {
    /// Read-backs of all sums into `to`.
    fn readings<'a>(&'a self, [x, y]: &'a [Vec<f64>; 2], to: &'a mut Moments) -> Vec<Readback<'a>> {
        let Moments { sum_x, sum_y, xx, xy, yy_diagonal, yy, max_abs_x, .. } = to;
        let mut readings = vec![
            self.xx.reading([x, x], xx),
            self.xy.reading([x, y], xy),
            self.x.reading(x, sum_x, &mut []),
            self.y.reading(y, sum_y, yy_diagonal),
            Readback::values(&self.x.largest, |first, values| {
                max_abs_x.iter_mut().skip(first).zip(values).for_each(|(to, value)| *to = *value);
            }),
        ];
        let yy = self.yy.iter().zip(yy);
        readings.extend(yy.map(|(sums, yy)| sums.reading([y, y], yy)));
        readings
    }
}

/// x or y of one batch while it is accumulated.
#[derive(Clone, Copy)]
struct BatchSide<'a> {
    engine: &'a Engine,
    choice: &'a KernelChoice,
    side: &'a DeviceScale,
    values: &'a Tensor,
    flags: &'a Buffer,
    rows: &'a GramRows<'a, Tensor>,
    form: Form,
}

impl BatchSide<'_> {
    fn params(&self) -> QuantiseParams {
        QuantiseParams {
            rows: self.values.shape.rows as u32,
            cols: self.side.cols() as u32,
            stride: padded(self.side.cols()) as u32,
            seq_len: self.rows.seq_len as u32,
            skip: self.rows.skip_positions as u32,
            digits: self.form.digits,
        }
    }

    fn ms(&self, elements: usize) -> f64 {
        self.choice.ms(FLOPS_PER_ELEMENT * elements as f64)
    }

    fn mark_outliers(&self) -> Result<()> {
        let elements = self.values.shape.len();
        let buffers = [self.values.buffer()?, &self.side.scales, self.flags];
        let grid = self.engine.column_grid(&MARK_OUTLIERS, self.values.shape);
        self.engine.dispatch(&MARK_OUTLIERS, &self.params(), &buffers, grid, self.ms(elements));
        Ok(())
    }

    /// The batch's digits; also adds its column sums to those of the fold.
    fn quantise(&self, columns: &GpuColumnSums, most: u64) -> Result<Digits> {
        let Shape { rows, cols } = self.values.shape;
        let blocks = rows.div_ceil(BLOCK_ROWS);
        let digits = Digits::new(self.engine, self.form, rows, cols);
        let block_sums = self.engine.output((16 * blocks * cols) as u64);
        let buffers =
            [self.values.buffer()?, &self.side.scales, self.flags, &digits.buffer, &block_sums, &columns.largest];
        let [across, ..] = self.engine.grid(&QUANTISE, padded(cols));
        self.engine.dispatch(&QUANTISE, &self.params(), &buffers, [across, blocks as u32, 1], self.ms(rows * cols));
        let sums = columns.sums.reserve(self.engine, self.choice, rows as u64, most);
        let grid = self.engine.grid(&SUM_COLUMNS, cols);
        self.engine.dispatch(&SUM_COLUMNS, &self.params(), &[&block_sums, sums], grid, self.ms(blocks * cols));
        Ok(digits)
    }
}

impl GpuColumnSums {
    fn new(engine: &Engine, cols: usize) -> Result<Self> {
        Ok(Self { sums: DeviceSums::new(engine, "column sums", 2 * cols)?, largest: engine.zeros(4 * cols as u64) })
    }

    /// Reads Σv of every column, scaled by its unit, and Σv² of the columns that `squares` has room for.
    fn reading<'a>(&'a self, units: &'a [f64], values: &'a mut [f64], squares: &'a mut [f64]) -> Readback<'a> {
        Readback::sums(&self.sums, |first, sums| {
            for (at, sum) in (first..).zip(sums) {
                let (col, unit) = (at / 2, units.get(at / 2).copied().unwrap_or_default());
                let (to, value) =
                    if at % 2 == 0 { (&mut *values, sum * unit) } else { (&mut *squares, sum * (unit * unit)) };
                if let Some(to) = to.get_mut(col) {
                    *to = value;
                }
            }
        })
    }
}

/// Waits for all batches but the last `in_flight` ones, and adds rows outside the scale to their fold's outlier rows.
pub(super) async fn settle(engine: &Engine, gram: &mut GpuGram, in_flight: usize) -> Result<()> {
    let ready = gram.pending.len().saturating_sub(in_flight);
    for batch in gram.pending.drain(..ready).collect::<Vec<_>>() {
        gram.settle_batch(engine, batch).await?;
    }
    Ok(())
}

impl GpuGram {
    async fn settle_batch(&mut self, engine: &Engine, batch: UnsettledBatch) -> Result<()> {
        let UnsettledBatch { block, fold, first_row, x, y, flags } = batch;
        let mut outliers = Vec::new();
        engine
            .receive(flags, |bytes| {
                let flagged = bytes.chunks_exact(4).enumerate().filter(|(_, flag)| flag != &[0; 4]);
                outliers.extend(flagged.map(|(row, _)| row));
            })
            .await?;
        let spans = outliers.iter().flat_map(|row| [row_span(&x, *row), row_span(&y, *row)]);
        let spans: Vec<_> = spans.collect::<Result<_>>()?;
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); spans.len()];
        engine
            .read(&spans, |span, _, bytes| {
                values[span].extend(bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned::<f32>));
            })
            .await?;
        let Self { shape, x: side_x, y: side_y, folds, .. } = self;
        let empty = || Moments::of_fold(&side_x.scale, &side_y.scale, fold, shape.folds);
        for (row, pair) in outliers.iter().zip(values.chunks_exact(2)) {
            for (site, values) in [("ffn_in", &pair[0]), ("ffn_out", &pair[1])] {
                if !values.iter().all(|value| value.is_finite()) {
                    return Err(Error::NonFiniteActivation { block, site: site.into(), row: first_row + row });
                }
            }
            folds[fold].outliers.push(&pair[0], &pair[1], empty);
        }
        Ok(())
    }
}

fn row_span(tensor: &Tensor, row: usize) -> Result<Span<'_>> {
    let size = 4 * tensor.shape.cols as u64;
    Ok(Span { buffer: tensor.buffer()?, offset: row as u64 * size, size })
}
