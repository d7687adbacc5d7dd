//! The rows of a token embedding that a text uses: a text of 15 000 tokens uses a tenth of a vocabulary of 50 000.

use std::ops::Range;

/// Token ids that occur, ascending; their embeddings form a smaller table in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRows(Vec<u32>);

impl TokenRows {
    /// The ids that occur in `ids`.
    pub fn of(ids: impl Iterator<Item = u32>) -> Self {
        let mut found: Vec<u32> = ids.collect();
        found.sort_unstable();
        found.dedup();
        Self(found)
    }

    /// Number of distinct ids.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Row indices of `ids` in the smaller table; every id must occur.
    pub fn rows(&self, ids: &[u32]) -> Vec<u32> {
        ids.iter().map(|id| self.0.partition_point(|known| known < id) as u32).collect()
    }

    /// Appends the occurring rows to `rows`; `values` holds the rows `ids` of a table with `cols` columns.
    pub(super) fn pick(&self, ids: Range<usize>, values: &[f32], cols: usize, rows: &mut Vec<f32>) {
        let first = self.0.partition_point(|id| (*id as usize) < ids.start);
        let occurring = self.0[first..].iter().map(|id| *id as usize).take_while(|id| ids.contains(id));
        occurring.for_each(|id| rows.extend(&values[(id - ids.start) * cols..][..cols]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_find_their_rows_in_the_smaller_table() {
        let rows = TokenRows::of([7, 2, 7, 4].into_iter());
        assert_eq!(rows.rows(&[7, 2, 4, 7]), [2, 0, 1, 2]);
        let table: Vec<f32> = (0..16).map(|value| value as f32).collect();
        let mut picked = Vec::new();
        for ids in [0..3, 3..6, 6..8] {
            let values = &table[2 * ids.start..2 * ids.end];
            rows.pick(ids, values, 2, &mut picked);
        }
        assert_eq!(picked, [4.0, 5.0, 8.0, 9.0, 14.0, 15.0]);
    }
}
