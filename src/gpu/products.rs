//! Second moments as products AᵀB of a batch's digits, block of rows by block of rows, added to 64-bit sums.
//!
//! Blocks are computed beside each other, so that a batch fills a device whose matrices are small, and added by another
//! kernel, once per batch; products of all blocks stay below a bound by taking some tiles at a time. Where a few threads
//! fill the device, fast products are added in the threads that multiply.

use std::ops::Range;
use std::rc::Rc;

use super::adapter::Device;
use super::engine::Engine;
#[cfg(not(target_arch = "wasm32"))]
use super::gram_kernels::GRAM_HANDED;
use super::gram_kernels::{
    ADD_EXACT, ADD_FAST, GRAM_FAST, GRAM_IN_TURN, GRAM_PACKED, GRAM_PLANES, GramParams, GramSumsParams,
};
use super::kernels::Kernel;
use super::matmul::Pace;
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
/// Blocks that are added at a time: of fast products parts of 25 bits are added up in 32, and 64 of them stay below 2³¹.
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

/// How fast products are made and added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fast {
    /// Blocks of rows beside each other, added by another kernel.
    Beside,
    /// Blocks one after the other, in the threads that add them.
    InTurn,
    /// The same, by threads that load for each other. No browser can be asked for subgroups through wgpu.
    #[cfg(not(target_arch = "wasm32"))]
    Handed,
}

impl Fast {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Beside,
        Self::InTurn,
        #[cfg(not(target_arch = "wasm32"))]
        Self::Handed,
    ];

    /// Whether a device has what it takes.
    pub(super) fn runs(self, device: &Device) -> bool {
        device.runs(self.kernels().0)
    }

    /// What multiplies, and what adds where that is another.
    fn kernels(self) -> (&'static Kernel, Option<&'static Kernel>) {
        match self {
            Self::Beside => (&GRAM_FAST, Some(&ADD_FAST)),
            Self::InTurn => (&GRAM_IN_TURN, None),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Handed => (&GRAM_HANDED, None),
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
    /// What adds products to the sums, where it is not the same kernel.
    add: Option<&'static Kernel>,
}

impl Form {
    pub(super) fn new(mode: GramMode, pace: &Pace) -> Self {
        let planes = Self {
            digits: 1,
            planes: 3,
            products: 3,
            block_rows: EXACT_BLOCK_ROWS,
            flops: pace.exact_flops,
            multiply: &GRAM_PLANES,
            add: Some(&ADD_EXACT),
        };
        match (mode, pace.exact) {
            (GramMode::Fast, _) => {
                let (multiply, add) = pace.fast.kernels();
                Self { digits: 0, planes: 1, products: 1, block_rows: BLOCK_ROWS, flops: 3.0, multiply, add }
            }
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
        let most = if form.add.is_some() { scratch / tile_bytes } else { self.tiles };
        let per_group = form.multiply.workgroup[2] as usize;
        let workgroups = (engine.pacer.dispatch_ms() / tile_ms).min(most as f64) as usize / per_group;
        let step = (per_group * workgroups.clamp(1, engine.device.max_workgroups())).min(self.tiles);
        let products = form.add.map(|add| (add, engine.output((tile_bytes * step) as u64)));
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
            let across = count.div_ceil(per_group) as u32;
            let ms = tile_ms * count as f64;
            let Some((add, products)) = &products else {
                engine.dispatch(form.multiply, &params, &[&a.buffer, &b.buffer, sums], [across, 1, 1], ms);
                continue;
            };
            let workgroups = [across, (blocks.len() * form.planes) as u32, 1];
            engine.dispatch(form.multiply, &params, &[&a.buffer, &b.buffer, products], workgroups, ms);
            let fours = count * TILE * TILE / 4;
            let params = GramSumsParams {
                blocks: blocks.len() as u32,
                fours: fours as u32,
                first_four: (first * TILE * TILE / 4) as u32,
            };
            engine.dispatch(add, &params, &[products, sums], engine.grid(add, fours), 0.2 * ms);
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
