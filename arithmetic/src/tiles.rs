//! Tiles of sums of products, of which matrix products and second moments on the CPU are made.
//!
//! A tile of 16 × 16 sums takes blocks of rows, 4 × 2 vectors of products at a time: as many as registers hold beside
//! what they are made of. Sums over a block stay in the precision of the rows.

use std::ops::AddAssign;

use bytemuck::Pod;

use crate::lanes::{Lanes, WithLanes, with_f32s, with_f64s};

/// Columns of a panel: of some neighbouring columns of a matrix, row by row.
pub const PANEL: usize = 16;
/// One row of a panel; where the matrix ends, zeros.
pub type Row<T> = [T; PANEL];
/// Sums for every column of one panel and every column of another.
type Sums<S> = [[S; PANEL]; PANEL];

/// Panels of A that are best taken at a time: a block of B is fetched once for them.
pub const STRIPE: usize = 3;
/// Columns of A whose products are summed up at once.
const TOP: usize = 4;

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
        for top in (0..PANEL).step_by(TOP) {
            for left in (0..PANEL).step_by(2 * L::WIDTH) {
                let products = four_by_two(lanes, (self.a, top), (self.b, left));
                for (sums, products) in self.sums[top..].iter_mut().zip(products) {
                    let products: &[T] = bytemuck::cast_slice(&products);
                    sums[left..].iter_mut().zip(products).for_each(|(sum, &more)| *sum += more.into());
                }
            }
        }
    }
}

/// Sums of the products of four columns of a, from one on, with two vectors of columns of b, from another one on.
#[inline(always)]
fn four_by_two<T: Pod + Default, L: Lanes<T>>(
    lanes: L,
    (a, top): (&[Row<T>], usize),
    (b, left): (&[Row<T>], usize),
) -> [[L::Vector; 2]; TOP] {
    // Asked once, not of every row.
    assert!(top + TOP <= PANEL && left + 2 * L::WIDTH <= PANEL);
    let [mut sums0, mut sums1, mut sums2, mut sums3] = [[lanes.splat(T::default()); 2]; TOP];
    for (a, b) in a.iter().zip(b) {
        let b = &b[left..left + 2 * L::WIDTH];
        let (near, far) = (lanes.load(b), lanes.load(&b[L::WIDTH..]));
        let added = |[sums_near, sums_far]: [L::Vector; 2], a: T| {
            let a = lanes.splat(a);
            [lanes.mul_add(a, near, sums_near), lanes.mul_add(a, far, sums_far)]
        };
        let a = &a[top..top + TOP];
        (sums0, sums1) = (added(sums0, a[0]), added(sums1, a[1]));
        (sums2, sums3) = (added(sums2, a[2]), added(sums3, a[3]));
    }
    [sums0, sums1, sums2, sums3]
}
