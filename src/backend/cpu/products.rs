//! Products AᵀB over rows as tiles of sums, for second moments on the CPU and matrix products in WebAssembly.

use std::ops::Range;

use straightedge_simd::{PANEL, Product, Row, STRIPE, Tile};

use crate::platform::parallel;

/// A panel, possibly with column statistics.
pub(super) trait PanelRows<T>: AsRef<[Row<T>]> + Sync {}

impl<T, P: AsRef<[Row<T>]> + Sync> PanelRows<T> for P {}

/// Sums of products in f64: a tile for every panel of columns of A and every panel of B. They stay in tiles until they
/// are read, because a tile's sums are contiguous, which makes adding fast.
pub(super) struct PanelSums {
    /// Stripe of panels of A and panel of B of each entry of `tiles`.
    places: Vec<(usize, usize)>,
    tiles: Vec<[Tile<f64>; STRIPE]>,
}

impl PanelSums {
    /// Empty sums of p columns times q columns.
    pub(super) fn of(p: usize, q: usize) -> Self {
        Self::at(p, |_| 0..q.div_ceil(PANEL))
    }

    /// Empty sums of p columns times themselves: only whole tiles on and below the diagonal.
    pub(super) fn square(p: usize) -> Self {
        Self::at(p, |stripe| 0..p.div_ceil(PANEL).min((stripe + 1) * STRIPE))
    }

    fn at(p: usize, panels: impl Fn(usize) -> Range<usize>) -> Self {
        let stripes = 0..p.div_ceil(STRIPE * PANEL);
        let places: Vec<_> = stripes.flat_map(|stripe| panels(stripe).map(move |panel| (stripe, panel))).collect();
        // Written before the first rows arrive. Sums read a page before they write it, which costs two page faults if
        // the page is fresh, and the second one stalls all other threads.
        let tiles = parallel::map(&places, |_| [Tile::default(); STRIPE]);
        Self { places, tiles }
    }

    /// sums += aᵀ·b over the rows of all bands; a band holds all panels of some rows.
    pub(super) fn add<T: Sync, P: PanelRows<T>>(&mut self, a: &[Vec<P>], b: &[Vec<P>])
    where
        f64: Product<T>,
    {
        let Self { places, tiles } = self;
        parallel::for_chunks(tiles, 1, |index, tiles| {
            let (stripe, panel) = places[index];
            for (a, b) in a.iter().zip(b) {
                add_stripe(tiles.as_flattened_mut(), a, stripe, b[panel].as_ref());
            }
        });
    }

    /// Adds the sums of other rows of the same columns.
    pub(super) fn merge(&mut self, other: &Self) {
        for (tiles, more) in self.tiles.iter_mut().zip(&other.tiles) {
            let sums = tiles.iter_mut().flat_map(|tile| tile.0.as_flattened_mut());
            sums.zip(more.iter().flat_map(|tile| tile.0.as_flattened())).for_each(|(sum, more)| *sum += more);
        }
    }

    /// All sums, row-major `(p, q)`, scaled by the columns' units; above a square's diagonal some are missing.
    pub(super) fn matrix(&self, unit_a: &[f64], unit_b: &[f64]) -> Vec<f64> {
        let q = unit_b.len();
        let mut matrix = vec![0.0; unit_a.len() * q];
        for (&(stripe, panel), tiles) in self.places.iter().zip(&self.tiles) {
            store(tiles, &mut matrix[stripe * STRIPE * PANEL * q..], q, panel * PANEL);
        }
        for (row, unit_a) in matrix.chunks_exact_mut(q).zip(unit_a) {
            row.iter_mut().zip(unit_b).for_each(|(sum, unit_b)| *sum *= unit_a * unit_b);
        }
        matrix
    }
}

/// Writes y = aᵀ·b into row-major `y`, `cols` wide, from column `left` on; one row per column of the panels `a`.
pub(super) fn product<P: PanelRows<f32>>((y, cols): (&mut [f32], usize), a: &[P], (b, left): (&[P], usize)) {
    parallel::for_chunks(y, STRIPE * PANEL * cols, |stripe, y| {
        for (b, left) in b.iter().zip((left..cols).step_by(PANEL)) {
            let mut tiles = [Tile::<f32>::default(); STRIPE];
            add_stripe(&mut tiles, a, stripe, b.as_ref());
            store(&tiles, y, cols, left);
        }
    });
}

/// Adds the products of one stripe of panels of A and one panel of B.
fn add_stripe<T, S: Product<T>>(tiles: &mut [Tile<S>], a: &[impl PanelRows<T>], stripe: usize, b: &[Row<T>]) {
    let a = &a[stripe * STRIPE..a.len().min((stripe + 1) * STRIPE)];
    let stripe: [&[Row<T>]; STRIPE] = std::array::from_fn(|panel| a.get(panel).map_or(&[][..], AsRef::as_ref));
    S::add(tiles, &stripe[..a.len()], b);
}

/// Copies a stripe of tiles into the first rows of `matrix`, `cols` wide, from column `left` on.
fn store<S: Copy>(tiles: &[Tile<S>], matrix: &mut [S], cols: usize, left: usize) {
    let sums = tiles.iter().flat_map(|tile| &tile.0);
    for (row, sums) in matrix.chunks_exact_mut(cols).zip(sums) {
        let row = &mut row[left..cols.min(left + PANEL)];
        row.copy_from_slice(&sums[..row.len()]);
    }
}

/// Copies the lower triangle of a row-major p × p matrix to the upper triangle.
pub(super) fn mirror(matrix: &mut [f64], p: usize) {
    // In tiles, so that values read down a column are still cached for the next column.
    for top in (0..p).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..p.min(top + TILE) {
                (left..i.min(left + TILE)).for_each(|j| matrix[j * p + i] = matrix[i * p + j]);
            }
        }
    }
}

/// Side of a tile; a few tiles fit the L1 cache.
const TILE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, whose sums are exact in any order.
    fn whole(n: usize, seed: u64) -> Vec<f32> {
        let mut random = crate::platform::random::Random::new(seed);
        (0..n).map(|_| (100.0 * random.symmetric()).round() as f32).collect()
    }

    fn panels<T: Copy + Default + From<f32>>(rows: &[f32], cols: usize) -> Vec<Vec<Row<T>>> {
        let value = |row: &[f32], col: usize| row.get(col).map_or(T::default(), |&value| value.into());
        let panel =
            |first: usize| rows.chunks(cols).map(|row| Row(std::array::from_fn(|j| value(row, first + j)))).collect();
        (0..cols).step_by(PANEL).map(panel).collect()
    }

    /// Twice the sums of products.
    fn twice(a: &[f32], p: usize, b: &[f32], q: usize) -> Vec<f64> {
        let product = |i: usize, j: usize| -> f32 { a.chunks(p).zip(b.chunks(q)).map(|(a, b)| a[i] * b[j]).sum() };
        (0..p * q).map(|at| 2.0 * f64::from(product(at / q, at % q))).collect()
    }

    fn check<T: Copy + Default + From<f32> + Sync + Send>()
    where
        f64: Product<T>,
    {
        for (n, p, q) in [(1, 1, 1), (3, 5, 2), (65, 33, 70), (200, 17, 16), (64, 96, 49), (130, 97, 145)] {
            let (a, b) = (whole(n * p, 1), whole(n * q, 2));
            let (of_a, of_b) = ([panels::<T>(&a, p)], [panels::<T>(&b, q)]);
            let mut sums = PanelSums::of(p, q);
            (0..2).for_each(|_| sums.add(&of_a, &of_b));
            assert_eq!(sums.matrix(&vec![1.0; p], &vec![1.0; q]), twice(&a, p, &b, q), "{n} rows of {p} and {q}");

            let mut sums = PanelSums::square(p);
            (0..2).for_each(|_| sums.add(&of_a, &of_a));
            let mut matrix = sums.matrix(&vec![1.0; p], &vec![1.0; p]);
            mirror(&mut matrix, p);
            assert_eq!(matrix, twice(&a, p, &a, p), "{n} rows of {p}");
        }
    }

    #[test]
    fn products_are_added_to_what_is_there_and_squares_on_the_diagonal_and_below() {
        check::<f64>();
        check::<f32>();
    }

    /// The sum of the squares of one column.
    fn square(rows: &[f32]) -> f64 {
        let mut sums = PanelSums::square(1);
        let panels = [panels::<f32>(rows, 1)];
        sums.add(&panels, &panels);
        sums.matrix(&[1.0], &[1.0])[0]
    }

    #[test]
    fn blocks_of_single_precision_are_kept_apart_and_their_sums_added_up_in_double_precision() {
        // 2²⁴ + 1 is not an f32. Added to 2²⁴ one by one, 64 ones are lost; summed in a block, they are not.
        let rows: Vec<f32> =
            (0..128).map(|row| if row == 0 { 4096.0 } else { f32::from(u8::from(row >= 64)) }).collect();
        assert_eq!(square(&rows), 4096.0 * 4096.0 + 64.0);
        let mut sums = PanelSums::square(1);
        for value in [4096.0, 1.0] {
            let panels = [panels::<f32>(&[value], 1)];
            sums.add(&panels, &panels);
        }
        assert_eq!(sums.matrix(&[1.0], &[1.0]), [4096.0 * 4096.0 + 1.0]);
    }
}
