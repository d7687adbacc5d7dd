//! Second moments as products AᵀB of a batch's digits: one kernel multiplies blocks of rows by themselves, another adds
//! the blocks to 64-bit sums.
//!
//! Blocks are computed beside each other, so that a batch fills a device whose matrices are small, and added at once, so
//! that sums are fetched once per batch. Products of all blocks stay below a bound by taking some tiles at a
//! time.

use std::rc::Rc;

use super::engine::Engine;
use super::kernels::{ADD_EXACT, ADD_FAST, GRAM_FAST, GRAM_PACKED, GRAM_PLANES, GramParams, GramSumsParams, Kernel};
use super::matmul::{DISPATCH_MS, Pace};
use super::sums::Sums;
use super::tensor::Buffer;
use crate::error::Result;
use crate::job::GramMode;

/// Rows and columns of a tile of products.
const TILE: usize = 32;
/// Rows that lie beside each other in a column of digits.
const GROUP_ROWS: usize = 4;
/// Rows of a block of f32 sums, and of sums by column.
pub(super) const BLOCK_ROWS: usize = 64;
/// Rows of a block of exact sums: no cross term of two values is above 2·2047·2048, and 256 of them stay below 2³¹. The
/// products of which it is the rest may wrap around, for it does not.
const EXACT_BLOCK_ROWS: usize = 256;
/// Blocks of fast products of which parts of 25 bits are added up in 32: 64 of them stay below 2³¹.
const ADDED_BLOCKS: usize = 64;
/// Bytes of products that wait to be added.
const SCRATCH_BYTES: u64 = 32 << 20;

/// How exact products are made of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// Each plane of digits by itself.
    Planes,
    /// Both digits from one word.
    Packed,
}

impl Exact {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Planes, Self::Packed];
}

/// The form of a batch's digits, and what is done with them.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// As the shader numbers it.
    pub(super) digits: u32,
    /// Planes of digits.
    planes: usize,
    /// Planes of products.
    products: usize,
    block_rows: usize,
    /// Operations whose time one product takes, against two of a matrix product.
    flops: f64,
    multiply: &'static Kernel,
    add: &'static Kernel,
}

impl Form {
    pub(super) fn new(mode: GramMode, exact: Exact) -> Self {
        let planes = Self {
            digits: 1,
            planes: 3,
            products: 3,
            block_rows: EXACT_BLOCK_ROWS,
            flops: 8.0,
            multiply: &GRAM_PLANES,
            add: &ADD_EXACT,
        };
        match (mode, exact) {
            (GramMode::Fast, _) => Self {
                digits: 0,
                planes: 1,
                products: 1,
                block_rows: BLOCK_ROWS,
                flops: 3.0,
                multiply: &GRAM_FAST,
                add: &ADD_FAST,
            },
            (GramMode::Exact, Exact::Planes) => planes,
            (GramMode::Exact, Exact::Packed) => Self { digits: 2, planes: 1, multiply: &GRAM_PACKED, ..planes },
        }
    }
}

/// Digits of a batch: planes of groups of four rows of `cols` columns, a whole number of tiles.
pub(super) struct Digits {
    pub(super) buffer: Rc<Buffer>,
    pub(super) rows: usize,
    cols: usize,
    form: Form,
}

impl Digits {
    /// Room for the digits of `rows` rows of `cols` columns.
    pub(super) fn new(engine: &Engine, form: Form, rows: usize, cols: usize) -> Self {
        let cols = padded(cols);
        let bytes = 4 * form.planes * rows.next_multiple_of(GROUP_ROWS) * cols;
        Self { buffer: engine.output(bytes as u64), rows, cols, form }
    }
}

/// Columns rounded up to whole tiles.
pub(super) fn padded(cols: usize) -> usize {
    cols.next_multiple_of(TILE)
}

/// The sums of a product AᵀB, in tiles.
pub(super) struct GramSums {
    pub(super) sums: Sums,
    a_cols: usize,
    b_cols: usize,
    tiles: usize,
    symmetric: bool,
}

impl GramSums {
    pub(super) fn new(engine: &Engine, what: &str, a_cols: usize, b_cols: usize, symmetric: bool) -> Result<Self> {
        let [rows, cols] = [a_cols, b_cols].map(|cols| cols.div_ceil(TILE));
        let tiles = if symmetric { rows * (rows + 1) / 2 } else { rows * cols };
        Ok(Self { sums: Sums::new(engine, what, tiles * TILE * TILE)?, a_cols, b_cols, tiles, symmetric })
    }

    /// Records the products of a batch, in pieces of bounded time and memory.
    pub(super) fn add(&self, engine: &Engine, pace: &Pace, a: &Digits, b: &Digits, most: u64) {
        let form = a.form;
        let sums = self.sums.room(engine, pace, a.rows as u64, most);
        let blocks = a.rows.div_ceil(form.block_rows);
        let tile_ms = pace.ms(form.flops * (TILE * TILE * a.rows) as f64);
        let tile_bytes = 4 * TILE * TILE * form.products * blocks;
        let scratch = SCRATCH_BYTES.min(engine.device.max_bytes()) as usize;
        let per_group = form.multiply.workgroup[2] as usize;
        let groups = (DISPATCH_MS / tile_ms).min((scratch / tile_bytes) as f64) as usize / per_group;
        let step = per_group * groups.clamp(1, engine.device.max_workgroups());
        let products = engine.output((tile_bytes * step.min(self.tiles)) as u64);
        for first in (0..self.tiles).step_by(step) {
            let count = step.min(self.tiles - first);
            let params = GramParams {
                a_cols: a.cols as u32,
                b_cols: b.cols as u32,
                groups: a.rows.div_ceil(GROUP_ROWS) as u32,
                block_groups: (form.block_rows / GROUP_ROWS) as u32,
                planes: form.products as u32,
                symmetric: self.symmetric.into(),
                first_tile: first as u32,
                end_tile: (first + count) as u32,
            };
            let workgroups = [count.div_ceil(per_group) as u32, (blocks * form.planes) as u32, 1];
            let ms = tile_ms * count as f64;
            engine.dispatch(form.multiply, &params, &[&a.buffer, &b.buffer, &products], workgroups, ms);
            let fours = count * TILE * TILE / 4;
            for first_block in (0..blocks).step_by(ADDED_BLOCKS) {
                let params = GramSumsParams {
                    first_block: first_block as u32,
                    end_block: blocks.min(first_block + ADDED_BLOCKS) as u32,
                    fours: fours as u32,
                    first_four: (first * TILE * TILE / 4) as u32,
                };
                engine.dispatch(form.add, &params, &[&products, sums], engine.grid(form.add, fours), 0.2 * ms);
            }
        }
    }

    /// The whole product, row-major, every sum through `convert(row, column, sum)`.
    pub(super) async fn read(&self, engine: &Engine, convert: impl Fn(usize, usize, i128) -> f64) -> Result<Vec<f64>> {
        let sums = self.sums.read(engine).await?;
        let mut product = Vec::with_capacity(self.a_cols * self.b_cols);
        for row in 0..self.a_cols {
            for col in 0..self.b_cols {
                let mirrored = self.symmetric && row > col;
                let sum = if mirrored { sums[self.at(col, row)] } else { sums[self.at(row, col)] };
                product.push(convert(row, col, sum));
            }
        }
        Ok(product)
    }

    /// Where the kernels leave a sum: by tile, by thread of the tile, four rows and four columns apart within it.
    fn at(&self, row: usize, col: usize) -> usize {
        let tiles = self.b_cols.div_ceil(TILE);
        let (y, x) = (row / TILE, col / TILE);
        let tile = match self.symmetric {
            false => y * tiles + x,
            // Row y is followed by row n − 1 − y: together they have n + 1 tiles on and above the diagonal.
            true if 2 * y < tiles => y * (tiles + 1) + x - y,
            true => (tiles - 1 - y) * (tiles + 1) + x + 1,
        };
        let thread = row % 4 * 4 + col % 4;
        tile * TILE * TILE + thread * 64 + row % TILE / 4 * 8 + col % TILE / 4
    }
}
