//! Products AᵀB over rows, added to sums in f64 where they are kept: what second moments on the CPU are.
//!
//! A tile of 16 × 16 sums takes blocks of rows, 4 × 2 vectors of products at a time: as many as registers hold beside
//! what they are made of. Sums over a block stay in the precision of the rows.

use super::lanes::{Element, Lanes};
use super::panels::{PANEL, Panel, Row};
use crate::parallel;

/// Panels of A that one core takes at a time, for which a block of B is fetched once.
const STRIPE: usize = 3;
/// Columns of A whose products are summed up at once.
const TOP: usize = 4;

/// sums += aᵀ·b: `sums` row-major with as many rows as `a` has columns, `q` columns as `b`.
pub(super) fn add_product<T: Element>(sums: &mut [f64], a: &[Panel<T>], b: &[Panel<T>], q: usize) {
    add(sums, a, b, q, |_| b.len());
}

/// sums += aᵀ·a in all panels on and below the diagonal: `sums` row-major p × p.
pub(super) fn add_square<T: Element>(sums: &mut [f64], a: &[Panel<T>], p: usize) {
    add(sums, a, a, p, |panel| panel + 1);
}

/// Adds to the stripes of `sums` beside each other; a panel of `a` that is the last one of its stripe asks for as many
/// panels of `b` as `wanted` says.
fn add<T: Element>(sums: &mut [f64], a: &[Panel<T>], b: &[Panel<T>], q: usize, wanted: impl Fn(usize) -> usize + Sync) {
    parallel::for_chunks(sums, STRIPE * PANEL * q, |stripe, sums| {
        let first = stripe * STRIPE;
        let a = &a[first..a.len().min(first + STRIPE)];
        for (right, b) in b[..wanted(first + a.len() - 1)].iter().enumerate() {
            let mut tiles = [[[0.0; PANEL]; PANEL]; STRIPE];
            for (block, b) in b.rows.chunks(T::BLOCK_ROWS).enumerate() {
                for (sums, a) in tiles.iter_mut().zip(a) {
                    let a = &a.rows[block * T::BLOCK_ROWS..][..b.len()];
                    T::add(Tile { sums, a, b });
                }
            }
            let left = right * PANEL;
            for (sums, tile) in sums.chunks_exact_mut(q).zip(tiles.as_flattened()) {
                sums[left..q.min(left + PANEL)].iter_mut().zip(tile).for_each(|(sum, more)| *sum += more);
            }
        }
    });
}

/// A block of rows of two panels, on its way to the sums of their products.
pub(super) struct Tile<'a, T> {
    sums: &'a mut [[f64; PANEL]; PANEL],
    a: &'a [Row<T>],
    b: &'a [Row<T>],
}

impl<T: Element> Tile<'_, T> {
    #[inline(always)]
    pub(super) fn add<L: Lanes<T>>(self, lanes: L) {
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
fn four_by_two<T: Element, L: Lanes<T>>(
    lanes: L,
    (a, top): (&[Row<T>], usize),
    (b, left): (&[Row<T>], usize),
) -> [[L::Vector; 2]; TOP] {
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

/// Copies the lower triangle of a row-major p × p matrix to the upper one.
pub(crate) fn mirror(matrix: &mut [f64], p: usize) {
    // Tile by tile, so that what is read down a column is in the cache for the next one.
    for top in (0..p).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..p.min(top + TILE) {
                (left..i.min(left + TILE)).for_each(|j| matrix[j * p + i] = matrix[i * p + j]);
            }
        }
    }
}

/// Side of a tile of which a few lie in the first cache.
const TILE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, whose sums are exact in any order.
    fn whole(n: usize, seed: u64) -> Vec<f32> {
        let mut random = crate::random::Random::new(seed);
        (0..n).map(|_| (100.0 * random.symmetric()).round() as f32).collect()
    }

    fn panels<T: Element + From<f32>>(rows: &[f32], cols: usize) -> Vec<Panel<T>> {
        let at: Vec<usize> = (0..rows.len() / cols).collect();
        Panel::all(&at, rows, &vec![0.0; cols], |_, value| (value as f32).into())
    }

    fn expected(sums: &[f64], a: &[f32], p: usize, b: &[f32], q: usize) -> Vec<f64> {
        let product = |i: usize, j: usize| -> f32 { a.chunks(p).zip(b.chunks(q)).map(|(a, b)| a[i] * b[j]).sum() };
        (0..p * q).map(|at| sums[at] + f64::from(product(at / q, at % q))).collect()
    }

    fn check<T: Element + From<f32>>() {
        for (n, p, q) in [(1, 1, 1), (3, 5, 2), (65, 33, 70), (200, 17, 16), (64, 96, 49)] {
            let (a, b) = (whole(n * p, 1), whole(n * q, 2));
            let before: Vec<f64> = whole(p * q, 3).into_iter().map(f64::from).collect();
            let mut sums = before.clone();
            add_product(&mut sums, &panels::<T>(&a, p), &panels(&b, q), q);
            assert_eq!(sums, expected(&before, &a, p, &b, q), "{n} rows of {p} and {q}");

            let mut sums = vec![0.0; p * p];
            (0..2).for_each(|_| add_square(&mut sums, &panels::<T>(&a, p), p));
            mirror(&mut sums, p);
            let none = vec![0.0; p * p];
            let twice: Vec<f64> = expected(&none, &a, p, &a, p).iter().map(|sum| 2.0 * sum).collect();
            assert_eq!(sums, twice, "{n} rows of {p}");
        }
    }

    #[test]
    fn products_are_added_to_what_is_there_and_squares_below_the_diagonal() {
        check::<f64>();
        check::<f32>();
    }

    #[test]
    fn blocks_of_single_precision_are_added_up_in_double_precision() {
        // 2²⁴ + 1 is no f32, but blocks of 64 ones beside one of 2²⁴ are kept apart.
        let rows: Vec<f32> = (0..128).map(|row| if row < 64 { 512.0 } else { 1.0 }).collect();
        let mut sums = [0.0];
        add_square(&mut sums, &panels::<f32>(&rows, 1), 1);
        assert_eq!(sums, [64.0 * 512.0 * 512.0 + 64.0]);
        let odd: Vec<f32> = (0..65).map(|row| if row < 64 { 512.0 } else { 1.0 }).collect();
        let mut sums = [0.0];
        add_square(&mut sums, &panels::<f32>(&odd, 1), 1);
        assert_eq!(sums, [64.0 * 512.0 * 512.0 + 1.0]);
    }
}
