//! Second moments as products AᵀB of a batch's digits, block of rows by block of rows, added to 64-bit sums.
//!
//! Blocks are computed beside each other, so that a batch fills a device whose matrices are small, and added by another
//! kernel, once per batch; products of all blocks stay below a bound by taking some tiles at a time.

use std::ops::Range;
use std::rc::Rc;

use super::adapter::Device;
use super::engine::Engine;
use super::gram_kernels::{
    ADD_DOTS, ADD_FLOAT_DIGITS, ADD_INTEGERS, ADD_PARTIALS, GRAM_DOTS, GRAM_FLOATS, GRAM_INTEGERS, GRAM_PACKED,
    GramParams, GramSumsParams,
};
use super::kernels::Kernel;
use super::matmul::Pace;
use super::sums::{Reading, Sums};
use super::tensor::Buffer;
use crate::error::Result;
use crate::job::GramMode;

/// Rows and columns of a tile of products.
const TILE: usize = 32;
/// Rows that lie beside each other in a column of digits.
const GROUP_ROWS: usize = 4;
/// Rows of a block of f32 sums, and of sums by column.
pub(super) const BLOCK_ROWS: usize = 64;
/// Rows of a block of exact sums: of 12-bit digits the cross terms stay below 2³¹, of 8-bit digits in f32 all sums within
/// 2²⁴ (`gram_sums.wgsl` says why).
const EXACT_BLOCK_ROWS: usize = 256;
/// Blocks that are added at a time: of fast products parts of 25 bits are added up in 32, and 64 of them stay below 2³¹.
const ADDED_BLOCKS: usize = 64;
/// Bytes of products that wait to be added.
const SCRATCH_BYTES: u64 = 32 << 20;

/// How exact products are made of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// 12-bit digits as integers, each plane of them by itself.
    IntegerPlanes,
    /// The same from one word for both.
    IntegerPacked,
    /// 8-bit digits and their pairs in f32, each plane of them by itself.
    FloatDigits,
    /// 8-bit digits, four of them times four in one operation.
    DotPacked,
}

impl Exact {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::IntegerPlanes, Self::IntegerPacked, Self::FloatDigits, Self::DotPacked];

    /// Whether a device has what it takes.
    pub(super) fn runs(self, device: &Device) -> bool {
        device.runs(self.form().multiply)
    }

    /// Times are those of the slowest devices: dispatches too short cost little, and those too long cost the device.
    const fn form(self) -> Form {
        let planes = Form {
            digits: 1,
            planes: 3,
            products: 3,
            block_rows: EXACT_BLOCK_ROWS,
            // Three products that take four times as long as in f32.
            flops: 24.0,
            multiply: &GRAM_INTEGERS,
            add: &ADD_INTEGERS,
        };
        match self {
            Self::IntegerPlanes => planes,
            Self::IntegerPacked => Form { digits: 2, planes: 1, multiply: &GRAM_PACKED, ..planes },
            Self::FloatDigits => Form {
                digits: 3,
                planes: 6,
                products: 6,
                flops: 18.0,
                multiply: &GRAM_FLOATS,
                add: &ADD_FLOAT_DIGITS,
                ..planes
            },
            // Nine products of sixteen operations for four rows, where they are taken apart.
            Self::DotPacked => {
                Form { digits: 4, planes: 1, products: 5, flops: 36.0, multiply: &GRAM_DOTS, add: &ADD_DOTS, ..planes }
            }
        }
    }
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
    pub(super) fn new(mode: GramMode, pace: &Pace) -> Self {
        match mode {
            GramMode::Exact => {
                let form = pace.exact.form();
                Self { flops: pace.exact_flops.unwrap_or(form.flops), ..form }
            }
            GramMode::Fast => Self {
                digits: 0,
                planes: 1,
                products: 1,
                block_rows: BLOCK_ROWS,
                flops: 3.0,
                multiply: &GRAM_FLOATS,
                add: &ADD_PARTIALS,
            },
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
        let sums = self.sums.room(engine, pace, a.rows as u64, most);
        let blocks = a.rows.div_ceil(a.form.block_rows);
        for first in (0..blocks).step_by(ADDED_BLOCKS) {
            self.add_blocks(engine, pace, [a, b], first..blocks.min(first + ADDED_BLOCKS), sums);
        }
    }

    fn add_blocks(&self, engine: &Engine, pace: &Pace, [a, b]: [&Digits; 2], blocks: Range<usize>, sums: &Buffer) {
        let form = a.form;
        let block_groups = form.block_rows / GROUP_ROWS;
        let groups = a.rows.div_ceil(GROUP_ROWS);
        let tile_ms = pace.ms(form.flops * (TILE * TILE * blocks.len() * form.block_rows) as f64);
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

    /// Reads the whole product into row-major `product`, every sum in units of its row's and its column's.
    pub(super) fn reading<'a>(&'a self, units: [&'a [f64]; 2], product: &'a mut [f64]) -> Reading<'a> {
        Reading::sums(&self.sums, move |first, sums| self.place(first, sums, units, product))
    }

    /// Puts sums, as they lie from `first` on, in their places: by tile, by thread of the tile, four rows and four columns
    /// apart within it.
    fn place(&self, first: usize, sums: &[f64], [rows, cols]: [&[f64]; 2], product: &mut [f64]) {
        let mut corner = self.corner(first / (TILE * TILE));
        for (at, sum) in (first..).zip(sums) {
            if at % (TILE * TILE) == 0 {
                corner = self.corner(at / (TILE * TILE));
            }
            let thread = at / 64 % 16;
            let row = corner[0] + at / 8 % 8 * 4 + thread / 4;
            let col = corner[1] + at % 8 * 4 + thread % 4;
            // Below the diagonal is the same as above it.
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

    /// First row and column of a tile, as the kernels number them.
    fn corner(&self, tile: usize) -> [usize; 2] {
        let tiles = self.b_cols.div_ceil(TILE);
        if !self.symmetric {
            return [tile / tiles, tile % tiles].map(|tile| tile * TILE);
        }
        // Row y is followed by row n − 1 − y: together they have n + 1 tiles on and above the diagonal.
        let (y, x) = (tile / (tiles + 1), tile % (tiles + 1));
        let corner = if x + y < tiles { [y, y + x] } else { [tiles - 1 - y, x - 1] };
        corner.map(|tile| tile * TILE)
    }
}
