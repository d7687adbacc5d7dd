//! Rearranges checkpoint tensors for [`super::Linear`]: `(out, in)`, with separate queries, keys and values.

use std::ops::Range;

use crate::platform::parallel;

/// Columns transposed at a time.
const STRIPE: usize = 32;

/// Transposes the columns `columns` of a row-major matrix with `cols` columns: `(in, out)` to `(out, in)`.
pub(super) fn transposed_columns(values: &[f32], cols: usize, columns: Range<usize>) -> Vec<f32> {
    let rows = values.len() / cols;
    let mut transposed = vec![0.0; rows * columns.len()];
    // In stripes, so that reads are contiguous and the written lines stay cached until they are complete.
    parallel::for_chunks(&mut transposed, STRIPE * rows.max(1), |stripe, written| {
        let first = columns.start + stripe * STRIPE;
        let width = written.len() / rows;
        for (i, row) in values.chunks_exact(cols).enumerate() {
            row[first..first + width].iter().enumerate().for_each(|(j, value)| written[j * rows + i] = *value);
        }
    });
    transposed
}

/// One part of a fused projection whose rows are ordered `(heads, parts, head_dim)`, each `width` values long.
pub(super) fn interleaved_part(values: &[f32], parts: usize, part: usize, head_dim: usize, width: usize) -> Vec<f32> {
    let one = head_dim * width;
    values.chunks_exact(parts * one).flat_map(|head| &head[part * one..(part + 1) * one]).copied().collect()
}

/// Inverse of `interleaved_part`: the fused projection of these parts.
pub(super) fn interleaved(parts: &[Vec<f32>], head_dim: usize, width: usize) -> Vec<f32> {
    let one = head_dim * width;
    let heads = parts.first().map_or(0, |part| part.len() / one);
    (0..heads)
        .flat_map(|head| parts.iter().flat_map(move |part| &part[head * one..(head + 1) * one]))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let in_by_out = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(transposed_columns(&in_by_out, 3, 0..3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(transposed_columns(&in_by_out, 3, 1..2), [2.0, 5.0]);
        assert_eq!(transposed_columns(&[], 3, 0..3), [0.0; 0]);
        let (rows, cols) = (3, 2 * STRIPE + 5);
        let wide: Vec<f32> = (0..rows * cols).map(|at| at as f32).collect();
        let expected: Vec<f32> = (4..cols).flat_map(|j| (0..rows).map(move |i| (i * cols + j) as f32)).collect();
        assert_eq!(transposed_columns(&wide, cols, 4..cols), expected);
    }

    #[test]
    fn a_part_gathers_its_rows_of_every_head() {
        // Two heads, three parts, head_dim 1, width 2: values are head.part.
        let fused = [0.0, 0.0, 0.1, 0.1, 0.2, 0.2, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2];
        assert_eq!(interleaved_part(&fused, 3, 0, 1, 2), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(interleaved_part(&fused, 3, 2, 1, 2), [0.2, 0.2, 1.2, 1.2]);
        let parts: Vec<_> = (0..3).map(|part| interleaved_part(&fused, 3, part, 1, 2)).collect();
        assert_eq!(interleaved(&parts, 1, 2), fused);
    }
}
