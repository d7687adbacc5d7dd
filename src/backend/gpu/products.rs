//! Second moments as products AᵀB of a batch's digits, computed by blocks of rows and added to 64-bit sums.
//!
//! Blocks run in parallel, so that a batch of small matrices still fills the device. A second kernel adds them, once
//! per batch. Tiles are processed in groups that bound the memory for the products of all blocks.

use std::ops::Range;
use std::rc::Rc;

use super::choice::KernelChoice;
use super::device::{Buffer, Engine};
use super::kernels::exact::Form;
use super::kernels::gram::{GramParams, GramSumsParams};
use super::sums::{DeviceSums, Readback};
use crate::error::Result;

/// Rows and columns of a tile of products.
const TILE: usize = 32;
/// Rows that are adjacent in a column of digits.
const GROUP_ROWS: usize = 4;
/// Blocks added at a time: fast products add parts of 25 bits in 32 bits, and 64 of them stay below 2³¹.
const ADDED_BLOCKS: usize = 64;
/// Maximum bytes of products that are not yet added.
const SCRATCH_BYTES: u64 = 32 << 20;

/// Digits of a batch: planes of groups of four rows; `cols` is padded to whole tiles.
pub(super) struct Digits {
    pub(super) buffer: Rc<Buffer>,
    pub(super) rows: usize,
    cols: usize,
    form: Form,
}

impl Digits {
    /// Allocates the digits of `rows` rows of `cols` columns.
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
    pub(super) sums: DeviceSums,
    a_cols: usize,
    b_cols: usize,
    tiles: usize,
    symmetric: bool,
}

impl GramSums {
    pub(super) fn new(engine: &Engine, what: &str, a_cols: usize, b_cols: usize) -> Result<Self> {
        let tiles = a_cols.div_ceil(TILE) * b_cols.div_ceil(TILE);
        Ok(Self { sums: DeviceSums::new(engine, what, tiles * TILE * TILE)?, a_cols, b_cols, tiles, symmetric: false })
    }

    /// Those of AᵀA: of what lies on both sides of the diagonal, one half.
    pub(super) fn symmetric(engine: &Engine, what: &str, cols: usize) -> Result<Self> {
        let tiles = cols.div_ceil(TILE) * (cols.div_ceil(TILE) + 1) / 2;
        let sums = DeviceSums::new(engine, what, tiles * TILE * TILE)?;
        Ok(Self { sums, a_cols: cols, b_cols: cols, tiles, symmetric: true })
    }

    /// Records the products of a batch, in dispatches of bounded time and memory.
    pub(super) fn add(&self, engine: &Engine, choice: &KernelChoice, a: &Digits, b: &Digits, most: u64) {
        let sums = self.sums.reserve(engine, choice, a.rows as u64, most);
        let blocks = a.rows.div_ceil(a.form.block_rows);
        for first in (0..blocks).step_by(ADDED_BLOCKS) {
            self.add_blocks(engine, choice, [a, b], first..blocks.min(first + ADDED_BLOCKS), sums);
        }
    }

    fn add_blocks(
        &self,
        engine: &Engine,
        choice: &KernelChoice,
        [a, b]: [&Digits; 2],
        blocks: Range<usize>,
        sums: &Buffer,
    ) {
        let form = a.form;
        let block_groups = form.block_rows / GROUP_ROWS;
        let groups = a.rows.div_ceil(GROUP_ROWS);
        let tile_ms = choice.ms(form.flops * (TILE * TILE * blocks.len() * form.block_rows) as f64);
        let tile_bytes = 4 * TILE * TILE * form.products * blocks.len();
        let scratch = SCRATCH_BYTES.min(engine.device.max_bytes()) as usize;
        let per_group = form.multiply.workgroup[2] as usize;
        let workgroups = (engine.pacer.dispatch_ms() / tile_ms).min((scratch / tile_bytes) as f64) as usize / per_group;
        let step = (per_group * workgroups.clamp(1, engine.device.max_workgroups())).min(self.tiles);
        let products = engine.output((tile_bytes * step) as u64);
        for first in (0..self.tiles).step_by(step) {
            let count = step.min(self.tiles - first);
            let params = GramParams {
                a_cols: a.cols as u32,
                b_cols: b.cols as u32,
                groups: groups as u32,
                block_groups: block_groups as u32,
                first_group: (blocks.start * block_groups) as u32,
                end_group: groups.min(blocks.end * block_groups) as u32,
                planes: form.products as u32,
                symmetric: self.symmetric.into(),
                first_tile: first as u32,
                end_tile: (first + count) as u32,
            };
            let ms = tile_ms * count as f64;
            let workgroups = [count.div_ceil(per_group) as u32, (blocks.len() * form.planes) as u32, 1];
            engine.dispatch(form.multiply, &params, &[&a.buffer, &b.buffer, &products], workgroups, ms);
            let fours = count * TILE * TILE / 4;
            let params = GramSumsParams {
                blocks: blocks.len() as u32,
                fours: fours as u32,
                first_four: (first * TILE * TILE / 4) as u32,
            };
            engine.dispatch(form.add, &params, &[&products, sums], engine.grid(form.add, fours), 0.2 * ms);
        }
    }

    /// Reads the product into row-major `product`; each sum is scaled by the units of its row and its column.
    pub(super) fn reading<'a>(&'a self, units: [&'a [f64]; 2], product: &'a mut [f64]) -> Readback<'a> {
        Readback::sums(&self.sums, move |first, sums| self.place(first, sums, units, product))
    }

    /// Scatters consecutive sums, starting at index `first`, into `product`. They are ordered by tile, then by thread
    /// of the tile; a thread's rows and columns are four apart.
    fn place(&self, first: usize, sums: &[f64], [rows, cols]: [&[f64]; 2], product: &mut [f64]) {
        let mut corner = self.corner(first / (TILE * TILE));
        for (at, sum) in (first..).zip(sums) {
            if at % (TILE * TILE) == 0 {
                corner = self.corner(at / (TILE * TILE));
            }
            let thread = at / 64 % 16;
            let row = corner[0] + at / 8 % 8 * 4 + thread / 4;
            let col = corner[1] + at % 8 * 4 + thread % 4;
            // The part below the diagonal is mirrored.
            if row >= self.a_cols || col >= self.b_cols || self.symmetric && row > col {
                continue;
            }
            let value = sum * (rows[row] * cols[col]);
            product[row * self.b_cols + col] = value;
            if self.symmetric {
                product[col * self.b_cols + row] = value;
            }
        }
    }

    /// First row and column of a tile, in the kernels' numbering.
    fn corner(&self, tile: usize) -> [usize; 2] {
        let tiles = self.b_cols.div_ceil(TILE);
        if !self.symmetric {
            return [tile / tiles, tile % tiles].map(|tile| tile * TILE);
        }
        // Row y is paired with row n − 1 − y: together they have n + 1 tiles on and above the diagonal.
        let (y, x) = (tile / (tiles + 1), tile % (tiles + 1));
        let corner = if x + y < tiles { [y, y + x] } else { [tiles - 1 - y, x - 1] };
        corner.map(|tile| tile * TILE)
    }
}
