//! Products of matrices in double precision, added to what is there already. \[faer\]

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

/// sums += aᵀ·b: `sums` row-major p × q, `a` n × p, `b` n × q.
pub(crate) fn add_product(sums: &mut [f64], a: &[f64], p: usize, b: &[f64], q: usize) {
    let (a, b) = (rows(a, p), rows(b, q));
    let sums = MatMut::from_row_major_slice_mut(sums, p, q);
    add(sums, BlockStructure::Rectangular, a, b);
}

/// The lower triangle of sums += aᵀ·a, the upper left as it is: `sums` row-major p × p, `a` n × p.
pub(crate) fn add_square(sums: &mut [f64], a: &[f64], p: usize) {
    let sums = MatMut::from_row_major_slice_mut(sums, p, p);
    add(sums, BlockStructure::TriangularLower, rows(a, p), rows(a, p));
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

fn rows(values: &[f64], cols: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(values, values.len() / cols, cols)
}

fn add(sums: MatMut<'_, f64>, structure: BlockStructure, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let all = BlockStructure::Rectangular;
    matmul(sums, structure, Accum::Add, a.transpose(), all, b, all, 1.0, on_all_cores());
}

#[cfg(not(target_arch = "wasm32"))]
fn on_all_cores() -> Par {
    Par::rayon(0)
}

#[cfg(target_arch = "wasm32")]
fn on_all_cores() -> Par {
    Par::Seq
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, whose sums are exact in any order.
    fn whole(n: usize, seed: u64) -> Vec<f64> {
        let mut random = crate::random::Random::new(seed);
        (0..n).map(|_| (100.0 * random.symmetric()).round()).collect()
    }

    fn expected(sums: &[f64], a: &[f64], p: usize, b: &[f64], q: usize) -> Vec<f64> {
        let product = |i: usize, j: usize| -> f64 { a.chunks(p).zip(b.chunks(q)).map(|(a, b)| a[i] * b[j]).sum() };
        (0..p * q).map(|at| sums[at] + product(at / q, at % q)).collect()
    }

    #[test]
    fn products_are_added_to_what_is_there() {
        for (n, p, q) in [(1, 1, 1), (3, 5, 2), (65, 33, 70)] {
            let (a, b, before) = (whole(n * p, 1), whole(n * q, 2), whole(p * q, 3));
            let mut sums = before.clone();
            add_product(&mut sums, &a, p, &b, q);
            assert_eq!(sums, expected(&before, &a, p, &b, q), "{n} rows of {p} and {q}");
        }
    }

    #[test]
    fn a_square_is_added_below_the_diagonal_and_mirrored_above() {
        for (n, p) in [(1, 1), (4, 31), (9, 32), (66, 67), (5, 100)] {
            let (a, none) = (whole(n * p, 4), vec![0.0; p * p]);
            let mut sums = none.clone();
            add_square(&mut sums, &a, p);
            add_square(&mut sums, &a, p);
            mirror(&mut sums, p);
            let twice: Vec<f64> = expected(&none, &a, p, &a, p).iter().map(|sum| 2.0 * sum).collect();
            assert_eq!(sums, twice, "{n} rows of {p}");
        }
    }
}
