//! Tiles of sums of products, of which matrix products and second moments on the CPU are made.
//!
//! A tile has a sum for every pair of columns of two panels. It takes blocks of rows, as many vectors of products at a
//! time as registers hold beside what they are made of. Sums over a block stay in the precision of the rows.

use std::ops::AddAssign;

use bytemuck::Pod;

use crate::lanes::{Lanes, WithLanes, with_f32s, with_f64s};

/// Columns of a panel: of some neighbouring columns of a matrix, row by row. The wider, the more products for every number
/// that comes from the second cache; three vectors of 512 bits are as many as registers have sums for.
pub const PANEL: usize = if cfg!(target_arch = "wasm32") { 32 } else { 48 };
/// One row of a panel; where the matrix ends, zeros.
pub type Row<T> = [T; PANEL];
/// Sums for every column of one panel and every column of another.
type Sums<S> = [[S; PANEL]; PANEL];

/// Panels of A that are best taken at a time: a block of B is fetched once for them.
pub const STRIPE: usize = 2;

/// A number that sums of products of T are kept in.
pub trait Product<T>: Copy + Default + Send + Sync {
    /// sums += aᵀ·b for as many rows of the panels `a` as of the panels `b`, at most [`STRIPE`] panels `a`. `sums` is
    /// row-major, a row for every column of `a`, and `cols` wide, of which the panels `b` are those from `left` on; what
    /// panels hold beyond its last row and column is left out.
    fn add(sums: &mut [Self], cols: usize, a: &[&[Row<T>]], b: &[&[Row<T>]], left: usize);
}

macro_rules! product {
    ($sum:ty, $number:ty, $block:expr, $with:ident) => {
        impl Product<$number> for $sum {
            #[inline(never)]
            fn add(sums: &mut [$sum], cols: usize, a: &[&[Row<$number>]], b: &[&[Row<$number>]], left: usize) {
                add((sums, cols), a, (b, left), $block, |sums, a, b| $with(Tile { sums, a, b }));
            }
        }
    };
}

// Blocks of rows whose products are summed up in the precision of the rows: as many as the first cache holds, or as
// single precision may lose the digits of.
product!(f64, f64, 64, with_f64s);
product!(f64, f32, 64, with_f32s);
product!(f32, f32, 128, with_f32s);

#[inline(always)]
fn add<T, S: Copy + Default + AddAssign>(
    (sums, cols): (&mut [S], usize),
    a: &[&[Row<T>]],
    (b, left): (&[&[Row<T>]], usize),
    block: usize,
    add_block: impl Fn(&mut Sums<S>, &[Row<T>], &[Row<T>]),
) {
    let end = a.first().map_or(0, |a| a.len());
    for (left, b) in (left..cols).step_by(PANEL).zip(b) {
        let mut tiles = [[[S::default(); PANEL]; PANEL]; STRIPE];
        for first in (0..end).step_by(block) {
            let rows = first..end.min(first + block);
            tiles.iter_mut().zip(a).for_each(|(tile, a)| add_block(tile, &a[rows.clone()], &b[rows.clone()]));
        }
        for (sums, tile) in sums.chunks_exact_mut(cols).zip(tiles.as_flattened()) {
            sums[left..cols.min(left + PANEL)].iter_mut().zip(tile).for_each(|(sum, &more)| *sum += more);
        }
    }
}

/// A block of rows of two panels, on its way to the sums of their products.
struct Tile<'a, T, S> {
    sums: &'a mut Sums<S>,
    a: &'a [Row<T>],
    b: &'a [Row<T>],
}

impl<T: Pod + Default + Into<S>, S: Copy + AddAssign> WithLanes<T> for Tile<'_, T, S> {
    #[inline(always)]
    fn with<L: Lanes<T>>(self, lanes: L) {
        // Of vectors of 512 bits there are thirty-two, of others as few as sixteen.
        match size_of::<L::Vector>() {
            64 => self.add::<L, 8, 3>(lanes),
            _ => self.add::<L, 4, 2>(lanes),
        }
    }
}

impl<T: Pod + Default + Into<S>, S: Copy + AddAssign> Tile<'_, T, S> {
    /// By `COLUMNS` columns of a and `VECTORS` vectors of columns of b at a time.
    #[inline(always)]
    fn add<L: Lanes<T>, const COLUMNS: usize, const VECTORS: usize>(self, lanes: L) {
        for top in (0..PANEL).step_by(COLUMNS) {
            for left in (0..PANEL).step_by(VECTORS * L::WIDTH) {
                let products = products::<T, L, COLUMNS, VECTORS>(lanes, (self.a, top), (self.b, left));
                for (sums, products) in self.sums[top..].iter_mut().zip(products) {
                    let products: &[T] = bytemuck::cast_slice(&products);
                    sums[left..].iter_mut().zip(products).for_each(|(sum, &more)| *sum += more.into());
                }
            }
        }
    }
}

/// Sums of the products of some columns of a, from one on, with some vectors of columns of b, from another one on.
#[inline(always)]
fn products<T: Pod + Default, L: Lanes<T>, const COLUMNS: usize, const VECTORS: usize>(
    lanes: L,
    (a, top): (&[Row<T>], usize),
    (b, left): (&[Row<T>], usize),
) -> [[L::Vector; VECTORS]; COLUMNS] {
    // Asked once, not of every row.
    assert!(top + COLUMNS <= PANEL && left + VECTORS * L::WIDTH <= PANEL);
    let mut sums = [[lanes.splat(T::default()); VECTORS]; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (&a[top..top + COLUMNS], &b[left..left + VECTORS * L::WIDTH]);
        // Loops over places, for what takes a function might not become one with it, and with the vectors' instructions.
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
    sums
}
