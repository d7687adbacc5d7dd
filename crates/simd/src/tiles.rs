//! Tiles of sums of products, for second moments on the CPU and matrix products in WebAssembly.
//!
//! A tile has a sum for every pair of columns of two panels. It is updated by blocks of rows, with as many accumulators
//! as fit the vector registers alongside their operands.

use bytemuck::Pod;

use crate::lanes::{Lanes, WithLanes, with_f32s, with_f64s};

/// Columns of a panel. Wider panels compute more products per number loaded from the L2 cache; three 512-bit vectors
/// are as many as there are registers for.
pub const PANEL: usize = if cfg!(target_arch = "wasm32") { 32 } else { 48 };

/// One row of a panel, zero beyond the matrix. Aligned so that no vector crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Row<T>(pub [T; PANEL]);

/// Sums for every column of one panel (rows of the tile) and every column of another.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Tile<S>(pub [[S; PANEL]; PANEL]);

impl<S: Copy + Default> Default for Tile<S> {
    fn default() -> Self {
        Self([[S::default(); PANEL]; PANEL])
    }
}

/// Panels of A processed together: a block of B is loaded once for all of them.
pub const STRIPE: usize = 2;

/// A number type that accumulates products of T.
pub trait Product<T>: Copy + Default + Send + Sync {
    /// tiles += aᵀ·b, one tile for each panel of `a`; there are at most [`STRIPE`], with as many rows as `b`.
    fn add(tiles: &mut [Tile<Self>], a: &[&[Row<T>]], b: &[Row<T>]);
}

impl Product<f64> for f64 {
    #[inline(never)]
    fn add(tiles: &mut [Tile<f64>], a: &[&[Row<f64>]], b: &[Row<f64>]) {
        with_f64s(Add::<f64, 32> { tiles, a, b });
    }
}

impl Product<f32> for f32 {
    #[inline(never)]
    fn add(tiles: &mut [Tile<f32>], a: &[&[Row<f32>]], b: &[Row<f32>]) {
        with_f32s(Add::<f32, 128> { tiles, a, b });
    }
}

/// Adds up blocks of 64 rows in f32 and their total, once per call, to f64 sums: fewer rows are more exact.
impl Product<f32> for f64 {
    #[inline(never)]
    fn add(tiles: &mut [Tile<f64>], a: &[&[Row<f32>]], b: &[Row<f32>]) {
        with_f32s(Widen(tiles, a, b));
    }
}

/// tiles += aᵀ·b in blocks of `ROWS` rows, a number limited by the L1 cache or by the precision of T.
struct Add<'a, T, const ROWS: usize> {
    tiles: &'a mut [Tile<T>],
    a: &'a [&'a [Row<T>]],
    b: &'a [Row<T>],
}

impl<T: Pod + Default + std::ops::AddAssign, const ROWS: usize> WithLanes<T> for Add<'_, T, ROWS> {
    #[inline(always)]
    fn with<L: Lanes<T>>(self, lanes: L) {
        for (index, b) in self.b.chunks(ROWS).enumerate() {
            for (tile, a) in self.tiles.iter_mut().zip(self.a) {
                let a = &a[index * ROWS..][..b.len()];
                // 512-bit vectors have 32 registers, others as few as 16.
                match size_of::<L::Vector>() {
                    64 => add_block::<T, L, 8, 3>(lanes, tile, a, b),
                    32 => add_block::<T, L, 6, 2>(lanes, tile, a, b),
                    _ => add_block::<T, L, 4, 2>(lanes, tile, a, b),
                }
            }
        }
    }
}

/// Adds products in f32 to sums in f64.
struct Widen<'a>(&'a mut [Tile<f64>], &'a [&'a [Row<f32>]], &'a [Row<f32>]);

impl WithLanes<f32> for Widen<'_> {
    #[inline(always)]
    fn with<L: Lanes<f32>>(self, lanes: L) {
        let Self(tiles, a, b) = self;
        let mut parts = [Tile::default(); STRIPE];
        Add::<f32, 64> { tiles: &mut parts, a, b }.with(lanes);
        for (tile, part) in tiles.iter_mut().zip(&parts) {
            let sums = tile.0.as_flattened_mut().iter_mut().zip(part.0.as_flattened());
            sums.for_each(|(sum, &more)| *sum += f64::from(more));
        }
    }
}

/// Processes `COLUMNS` columns of a and `VECTORS` vectors of columns of b at a time.
#[inline(always)]
fn add_block<T: Pod + Default + std::ops::AddAssign, L: Lanes<T>, const COLUMNS: usize, const VECTORS: usize>(
    lanes: L,
    tile: &mut Tile<T>,
    a: &[Row<T>],
    b: &[Row<T>],
) {
    for top in (0..PANEL).step_by(COLUMNS) {
        for left in (0..PANEL).step_by(VECTORS * L::WIDTH) {
            let products = products::<T, L, COLUMNS, VECTORS>(lanes, (a, top), (b, left));
            for (sums, products) in tile.0[top..].iter_mut().zip(products) {
                let products: &[T] = bytemuck::cast_slice(&products);
                sums[left..].iter_mut().zip(products).for_each(|(sum, &more)| *sum += more);
            }
        }
    }
}

/// Rows per loop iteration: with one row and panels in the L1 cache, the loop counter takes up to a sixth of the time.
const UNROLLED: usize = if cfg!(target_arch = "wasm32") { 1 } else { 4 };

/// Sums of products of `COLUMNS` columns of a, from `top` on, with `VECTORS` vectors of columns of b, from `left` on.
#[inline(always)]
fn products<T: Pod + Default, L: Lanes<T>, const COLUMNS: usize, const VECTORS: usize>(
    lanes: L,
    (a, top): (&[Row<T>], usize),
    (b, left): (&[Row<T>], usize),
) -> [[L::Vector; VECTORS]; COLUMNS] {
    // Checked once instead of for every row.
    assert!(top + COLUMNS <= PANEL && left + VECTORS * L::WIDTH <= PANEL);
    let mut sums = [[lanes.splat(T::default()); VECTORS]; COLUMNS];
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<UNROLLED>(), b.as_chunks::<UNROLLED>());
    for (a, b) in a.iter().zip(b) {
        for row in 0..UNROLLED {
            add_row(lanes, &mut sums, &a[row].0[top..], &b[row].0[left..]);
        }
    }
    for (a, b) in last_a.iter().zip(last_b) {
        add_row(lanes, &mut sums, &a.0[top..], &b.0[left..]);
    }
    sums
}

/// Adds the products of one row.
#[inline(always)]
fn add_row<T: Pod + Default, L: Lanes<T>, const COLUMNS: usize, const VECTORS: usize>(
    lanes: L,
    sums: &mut [[L::Vector; VECTORS]; COLUMNS],
    a: &[T],
    b: &[T],
) {
    let (a, b) = (&a[..COLUMNS], &b[..VECTORS * L::WIDTH]);
    // Index loops, because iterator closures might not be inlined and would then lack the vector instructions.
    let mut vectors = [lanes.splat(T::default()); VECTORS];
    for vector in 0..VECTORS {
        vectors[vector] = lanes.load(&b[vector * L::WIDTH..]);
    }
    for column in 0..COLUMNS {
        let a = lanes.splat(a[column]);
        for vector in 0..VECTORS {
            sums[column][vector] = lanes.mul_add(a, vectors[vector], sums[column][vector]);
        }
    }
}
