//! 64-bit sums on the device and how they are read back.
//!
//! A sum of products of 24-bit integers over 2¹⁷ rows fits 63 bits. Before more rows come, all but the low 32 bits
//! spill into a second array; the host puts both together again.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::engine::{Engine, Span};
use super::kernels::{GRAM_EXACT, GRAM_FAST, GramParams, LenParams, SPILL};
use super::matmul::{DISPATCH_MS, Pace, piece};
use super::tensor::Buffer;
use crate::error::{Error, Result};
use crate::job::GramMode;

/// Rows and columns of a tile of products.
pub(super) const TILE: usize = 32;
/// Rows that an exact sum takes without overflow.
pub(super) const MAX_ROWS: u64 = 1 << 17;
/// Rows of a block of the Gram kernels; dispatches are cut between blocks.
const BLOCK_ROWS: usize = 64;
/// Floating-point operations whose time one exact product takes, against one of a matrix product (2).
const EXACT_FLOPS: f64 = 8.0;
/// The same for a fast product.
const FAST_FLOPS: f64 = 6.0;

/// An array of 64-bit integers that dispatches add to.
pub(super) struct Sums {
    low: Rc<Buffer>,
    high: OnceCell<Rc<Buffer>>,
    /// Rows added since the last spill.
    rows: Cell<u64>,
}

impl Sums {
    /// `len` zeros; `what` appears in errors.
    pub(super) fn new(engine: &Engine, what: &str, len: usize) -> Result<Self> {
        let needed = 8 * (len as u64).next_multiple_of(2);
        let limit = engine.device.max_bytes();
        if needed > limit {
            return Err(Error::DeviceLimit { what: what.into(), needed, limit });
        }
        Ok(Self { low: engine.zeros(needed), high: OnceCell::new(), rows: Cell::new(0) })
    }

    /// The buffer to add to, with room for `rows` more rows out of at most `most` between spills.
    pub(super) fn room(&self, engine: &Engine, pace: &Pace, rows: u64, most: u64) -> &Buffer {
        if self.rows.get() + rows > most {
            let high = self.high.get_or_init(|| engine.zeros(self.low.size));
            let pairs = (self.low.size / 16) as usize;
            let params = LenParams { len: pairs as u32 };
            let ms = pace.ms(32.0 * pairs as f64);
            engine.dispatch(&SPILL, &params, &[&self.low, high], engine.grid(&SPILL, pairs), ms);
            self.rows.set(0);
        }
        self.rows.set(self.rows.get() + rows);
        &self.low
    }

    /// All sums, in order.
    pub(super) async fn read(&self, engine: &Engine) -> Result<Vec<i128>> {
        let mut sums = vec![0i128; (self.low.size / 8) as usize];
        let spans: Vec<_> = std::iter::once(&self.low)
            .chain(self.high.get())
            .map(|buffer| Span { buffer, offset: 0, size: buffer.size })
            .collect();
        engine
            .read(&spans, |index, offset, bytes| {
                for (sum, word) in sums[offset as usize / 8..].iter_mut().zip(bytes.chunks_exact(8)) {
                    let word = i128::from(bytemuck::pod_read_unaligned::<i64>(word));
                    *sum += if index == 0 { word } else { word << 32 };
                }
            })
            .await?;
        Ok(sums)
    }
}

/// The sums of a product AᵀB, in tiles.
pub(super) struct GramSums {
    pub(super) sums: Sums,
    a_cols: usize,
    b_cols: usize,
    symmetric: bool,
}

/// Digits of a batch: `rows` rows of `stride` columns, a whole number of tiles.
pub(super) struct Digits {
    pub(super) buffer: Rc<Buffer>,
    pub(super) rows: usize,
    pub(super) stride: usize,
}

/// Columns rounded up to whole tiles.
pub(super) fn stride(cols: usize) -> usize {
    cols.next_multiple_of(TILE)
}

impl GramSums {
    pub(super) fn new(engine: &Engine, what: &str, a_cols: usize, b_cols: usize, symmetric: bool) -> Result<Self> {
        let (rows, cols) = (a_cols.div_ceil(TILE), b_cols.div_ceil(TILE));
        let tiles = if symmetric { rows * (rows + 1) / 2 } else { rows * cols };
        Ok(Self { sums: Sums::new(engine, what, tiles * TILE * TILE)?, a_cols, b_cols, symmetric })
    }

    /// Records the products of a batch, in pieces of bounded time.
    pub(super) fn add(&self, engine: &Engine, pace: &Pace, mode: GramMode, a: &Digits, b: &Digits, most: u64) {
        let (kernel, flops, tiles_per_group) = match mode {
            GramMode::Exact => (&GRAM_EXACT, EXACT_FLOPS, 1),
            GramMode::Fast => (&GRAM_FAST, FAST_FLOPS, GRAM_FAST.workgroup[2]),
        };
        let sums = self.sums.room(engine, pace, a.rows as u64, most);
        let (tile_rows, tile_cols) = (a.stride / TILE, b.stride / TILE);
        let share = if self.symmetric { 0.5 } else { 1.0 };
        let tile_row_ms = pace.ms(share * flops * (TILE * TILE * tile_cols * BLOCK_ROWS) as f64);
        let blocks = a.rows.div_ceil(BLOCK_ROWS);
        let limit = engine.device.max_workgroups();
        let [step_blocks, step_tiles] = piece([blocks, tile_rows], DISPATCH_MS / tile_row_ms, limit);
        for block in (0..blocks).step_by(step_blocks) {
            for tile in (0..tile_rows).step_by(step_tiles) {
                let groups = step_tiles.min(tile_rows - tile);
                let params = GramParams {
                    first_row: (block * BLOCK_ROWS) as u32,
                    end_row: ((block + step_blocks) * BLOCK_ROWS).min(a.rows) as u32,
                    a_stride: (a.stride / 4) as u32,
                    b_stride: (b.stride / 4) as u32,
                    first_tile: tile as u32,
                    symmetric: self.symmetric.into(),
                };
                let ms = tile_row_ms * (groups * step_blocks.min(blocks - block)) as f64;
                let workgroups = [(tile_cols as u32).div_ceil(tiles_per_group), groups as u32, 1];
                engine.dispatch(kernel, &params, &[&a.buffer, &b.buffer, sums], workgroups, ms);
            }
        }
    }

    /// The whole product, row-major, every sum through `convert(row, column, sum)`.
    pub(super) async fn read(&self, engine: &Engine, convert: impl Fn(usize, usize, i128) -> f64) -> Result<Vec<f64>> {
        let sums = self.sums.read(engine).await?;
        let tiles = self.b_cols.div_ceil(TILE);
        let at = |row: usize, col: usize| {
            let (tile_row, tile_col) = (row / TILE, col / TILE);
            let missing = if self.symmetric { tile_row * (tile_row + 1) / 2 } else { 0 };
            let tile = tile_row * tiles + tile_col - missing;
            (tile * TILE + row % TILE) * TILE + col % TILE
        };
        let mut product = Vec::with_capacity(self.a_cols * self.b_cols);
        for row in 0..self.a_cols {
            for col in 0..self.b_cols {
                let mirrored = self.symmetric && row > col;
                let sum = if mirrored { sums[at(col, row)] } else { sums[at(row, col)] };
                product.push(convert(row, col, sum));
            }
        }
        Ok(product)
    }
}
