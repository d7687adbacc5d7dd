//! Products AᵀB over rows, added to sums where they are kept: what second moments on the CPU are, and matrix products in
//! WebAssembly.

use straightedge_arithmetic::{PANEL, Product, Row, STRIPE};

use crate::parallel;

/// sums += aᵀ·b: `sums` row-major, a row for every column of the panels `a`, `q` columns, of which `b` are those from
/// `left` on.
pub(super) fn add_product<T: Sync, S: Product<T>>(
    (sums, q): (&mut [S], usize),
    a: &[impl Rows<T>],
    (b, left): (&[impl Rows<T>], usize),
) {
    add((sums, q), a, (b, left), |_| b.len());
}

/// sums += aᵀ·a in all panels on and below the diagonal: `sums` row-major p × p.
pub(super) fn add_square<T: Sync, S: Product<T>>(sums: &mut [S], a: &[impl Rows<T>], p: usize) {
    add((sums, p), a, (a, 0), |panels| panels);
}

/// A panel, with or without something beside its rows.
pub(super) trait Rows<T>: AsRef<[Row<T>]> + Sync {}

impl<T, P: AsRef<[Row<T>]> + Sync> Rows<T> for P {}

/// Adds to the stripes of `sums` beside each other; the first `n` panels of `a` ask for `wanted(n)` panels of `b`.
fn add<T: Sync, S: Product<T>>(
    (sums, q): (&mut [S], usize),
    a: &[impl Rows<T>],
    (b, left): (&[impl Rows<T>], usize),
    wanted: impl Fn(usize) -> usize + Sync,
) {
    let a: Vec<&[Row<T>]> = a.iter().map(AsRef::as_ref).collect();
    let b: Vec<&[Row<T>]> = b.iter().map(AsRef::as_ref).collect();
    parallel::for_chunks(sums, STRIPE * PANEL * q, |stripe, sums| {
        let end = a.len().min((stripe + 1) * STRIPE);
        S::add(sums, q, &a[stripe * STRIPE..end], &b[..wanted(end)], left);
    });
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

    fn panels<T: Copy + Default + From<f32>>(rows: &[f32], cols: usize) -> Vec<Vec<Row<T>>> {
        let value = |row: &[f32], col: usize| row.get(col).map_or(T::default(), |&value| value.into());
        let panel =
            |first: usize| rows.chunks(cols).map(|row| std::array::from_fn(|j| value(row, first + j))).collect();
        (0..cols).step_by(PANEL).map(panel).collect()
    }

    fn expected(sums: &[f64], a: &[f32], p: usize, b: &[f32], q: usize) -> Vec<f64> {
        let product = |i: usize, j: usize| -> f32 { a.chunks(p).zip(b.chunks(q)).map(|(a, b)| a[i] * b[j]).sum() };
        (0..p * q).map(|at| sums[at] + f64::from(product(at / q, at % q))).collect()
    }

    fn check<T: Copy + Default + From<f32> + Sync>()
    where
        f64: Product<T>,
    {
        for (n, p, q) in [(1, 1, 1), (3, 5, 2), (65, 33, 70), (200, 17, 16), (64, 96, 49)] {
            let (a, b) = (whole(n * p, 1), whole(n * q, 2));
            let before: Vec<f64> = whole(p * q, 3).into_iter().map(f64::from).collect();
            let mut sums = before.clone();
            add_product((&mut sums, q), &panels::<T>(&a, p), (&panels(&b, q), 0));
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
