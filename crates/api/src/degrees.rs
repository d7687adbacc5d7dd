//! The polynomials of a block, as plain data: their degrees and numbers of features (docs/measures.md, section 5).

/// The highest degree.
pub const HIGHEST: usize = 4;
/// Fewest training rows per feature.
pub const ROWS_PER_FEATURE: usize = 4;
/// Widest x: the matrices of the fit have up to twice as many columns, and its time grows with their cube.
pub const WIDEST: usize = 2048;
/// Features that are few enough for any width.
const FEW: usize = 1024;

/// Numbers of landmarks: half the width, doubled as long as there are few features and many rows for each.
pub fn landmark_counts(d_in: usize, train_rows: usize) -> Vec<usize> {
    let most = FEW.max(2 * d_in).min(train_rows / ROWS_PER_FEATURE);
    let doubled = std::iter::successors(Some(d_in.div_ceil(2)), |count| Some(2 * count));
    doubled.take_while(|count| *count > 0 && d_in <= WIDEST && d_in + count <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_doubled_as_long_as_rows_and_time_allow() {
        assert_eq!(landmark_counts(128, 12_000), [64, 128, 256, 512]);
        assert_eq!(landmark_counts(768, 12_032), [384, 768]);
        assert_eq!(landmark_counts(768, 5000), [384], "1250 features at most");
        assert!(landmark_counts(768, 4000).is_empty());
        assert_eq!(landmark_counts(2048, 100_000), [1024, 2048]);
        assert!(landmark_counts(2560, 100_000).is_empty());
        assert!(landmark_counts(0, 100_000).is_empty(), "a foreign report may have no width");
    }
}
