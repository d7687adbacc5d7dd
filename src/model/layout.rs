//! Rearranges checkpoint tensors into the layout of [`super::Linear`]: `(out, in)`, queries, keys and values apart.

use std::ops::Range;

/// Columns `columns` of a row-major matrix with `cols` columns, transposed: `(in, out)` to `(out, in)`.
pub(super) fn transposed_columns(values: &[f32], cols: usize, columns: Range<usize>) -> Vec<f32> {
    let mut transposed = Vec::with_capacity(values.len() / cols * columns.len());
    for column in columns {
        transposed.extend(values.iter().skip(column).step_by(cols));
    }
    transposed
}

/// One part of a fused projection whose rows are ordered `(heads, parts, head_dim)`, each `width` values long.
pub(super) fn interleaved_part(values: &[f32], parts: usize, part: usize, head_dim: usize, width: usize) -> Vec<f32> {
    let one = head_dim * width;
    values.chunks_exact(parts * one).flat_map(|head| &head[part * one..(part + 1) * one]).copied().collect()
}

/// The fused projection that such parts were taken from.
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
    }

    #[test]
    fn a_part_gathers_its_rows_of_every_head() {
        // Two heads, three parts, head_dim 1, width 2: rows are named head.part.
        let fused = [0.0, 0.0, 0.1, 0.1, 0.2, 0.2, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2];
        assert_eq!(interleaved_part(&fused, 3, 0, 1, 2), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(interleaved_part(&fused, 3, 2, 1, 2), [0.2, 0.2, 1.2, 1.2]);
        let parts: Vec<_> = (0..3).map(|part| interleaved_part(&fused, 3, part, 1, 2)).collect();
        assert_eq!(interleaved(&parts, 1, 2), fused);
    }
}
