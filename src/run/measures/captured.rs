//! The rows of one block on the host, for measures that read them several times.

use std::ops::Range;

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::Result;
use crate::job::Protocol;

use crate::platform::yielding::yield_now;
use crate::run::sweep::Visit;

/// The counted rows of one block, in corpus order.
pub(super) struct Captured {
    pub(super) d_in: usize,
    pub(super) d_out: usize,
    /// Row-major, `rows · d_in`.
    pub(super) x: Vec<f32>,
    /// Row-major, `rows · d_out`.
    pub(super) y: Vec<f32>,
    /// Rows of a window that count.
    window: usize,
    /// Windows of each fold, the held-out one last.
    fold_windows: Vec<usize>,
}

impl Captured {
    /// The rows kept by a visit: all of them, or the held-out ones.
    pub(super) async fn of<B: Backend>(visit: &Visit<'_, B>, folds: &Folds, protocol: &Protocol) -> Result<Self> {
        let window = protocol.seq_len - protocol.skip_positions;
        let fold_windows = vec![0; folds.len()];
        let mut captured = Self { d_in: 0, d_out: 0, x: Vec::new(), y: Vec::new(), window, fold_windows };
        for rows in &visit.rows {
            if let (Some(fold), Some(x), Some(y)) = (rows.batch.fold(), &rows.x, &rows.y) {
                (captured.d_in, captured.d_out) = (x.cols(), y.cols());
                keep_counted(&mut captured.x, &visit.store.values(x).await?, captured.d_in, protocol);
                keep_counted(&mut captured.y, &visit.store.values(y).await?, captured.d_out, protocol);
                captured.fold_windows[fold] += rows.batch.windows.len();
                yield_now().await;
            }
        }
        Ok(captured)
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.x.len() / self.d_in.max(1)
    }

    /// Ids of the training rows.
    pub(super) fn train(&self) -> Vec<u32> {
        self.folds(0..self.fold_windows.len() - 1)
    }

    /// Ids of the rows of some folds.
    pub(super) fn folds(&self, folds: Range<usize>) -> Vec<u32> {
        self.rows(self.windows_before(folds.start)..self.windows_before(folds.end))
    }

    /// Ids of the held-out rows.
    pub(super) fn heldout(&self) -> Vec<u32> {
        let last = self.fold_windows.len() - 1;
        self.folds(last..last + 1)
    }

    /// The training rows split into those to learn from and those to validate on: the last tenth, in whole windows. A
    /// single window serves as both.
    pub(super) fn learn_and_validate(&self) -> [Vec<u32>; 2] {
        let all = self.windows_before(self.fold_windows.len() - 1);
        if all < 2 {
            return [self.train(), self.train()];
        }
        let cut = all - (all / 10).max(1);
        [self.rows(0..cut), self.rows(cut..all)]
    }

    /// Windows of the folds before `fold`.
    fn windows_before(&self, fold: usize) -> usize {
        self.fold_windows[..fold].iter().sum()
    }

    fn rows(&self, windows: Range<usize>) -> Vec<u32> {
        (windows.start * self.window..windows.end * self.window).map(|row| row as u32).collect()
    }
}

/// Appends the rows of a batch without the skipped positions of every window.
fn keep_counted(kept: &mut Vec<f32>, rows: &[f32], cols: usize, protocol: &Protocol) {
    for window in rows.chunks_exact(protocol.seq_len * cols) {
        kept.extend(&window[protocol.skip_positions * cols..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validation_is_the_last_tenth_of_the_training_windows() {
        let fold_windows = vec![12, 8, 5];
        let captured = Captured { d_in: 1, d_out: 1, x: vec![0.0; 75], y: vec![0.0; 75], window: 3, fold_windows };
        let [learn, validate] = captured.learn_and_validate();
        assert_eq!((learn, validate), ((0..54).collect(), (54..60).collect::<Vec<u32>>()));
        assert_eq!((captured.train(), captured.heldout()), ((0..60).collect(), (60..75).collect()));
        assert_eq!(captured.folds(1..2), (36..60).collect::<Vec<u32>>());
        let few = Captured { fold_windows: vec![1, 24], ..captured };
        assert_eq!(few.learn_and_validate(), [vec![0, 1, 2], vec![0, 1, 2]]);
    }

    #[test]
    fn skipped_positions_are_left_out() {
        let protocol = Protocol { seq_len: 3, skip_positions: 1, ..Protocol::default() };
        let mut kept = Vec::new();
        keep_counted(&mut kept, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], 2, &protocol);
        assert_eq!(kept, [2.0, 3.0, 4.0, 5.0, 8.0, 9.0, 10.0, 11.0]);
    }
}
