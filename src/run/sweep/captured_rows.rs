//! Measures a block without its model: captured rows from a file.

use std::ops::Range;

use super::state::{BlockMeasures, KeepPolicy};
use super::{Cut, RowStore, Rows, Visit, fold_batches};
use crate::backend::{BATCH_ROWS, Backend, Shape};
use crate::error::Result;
use crate::event::Stage;
use crate::run::pass::Pass;
use crate::weights::RowsFile;
use crate::workers::sums::BlockSums;

/// Measures captured rows as block 0.
pub(in crate::run) async fn of_rows<'a, B: Backend>(
    pass: &'a Pass<'a, B>,
    store: &'a RowStore<'a, B>,
    file: &RowsFile,
    mut measures: BlockMeasures<'a, B>,
) -> Result<()> {
    let seq_len = pass.job.protocol.seq_len;
    let all_rows = measures.iter().any(|measure| measure.needs_all_rows());
    let keeps = KeepPolicy { all_rows, weights: false, layers: false, forks: false };
    let batches = fold_batches(pass.folds, Cut { seq_len, batch_rows: BATCH_ROWS });
    let meter = pass.out.stage(Stage::Measure, (pass.folds.all().len() * seq_len) as u64);
    let mut sums = BlockSums::new(pass.backend, 0, pass.folds.len(), &pass.job.protocol, None);
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        let rows = batch.windows.start * seq_len..batch.windows.end * seq_len;
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for read in consecutive(batch.windows.clone().map(|position| pass.folds.window_at(position))) {
            let read = read.start * seq_len..read.end * seq_len;
            x.append(&mut file.x(read.clone()).await?);
            y.append(&mut file.y(read).await?);
        }
        let upload = |name, cols, values: Vec<f32>| pass.backend.upload(name, Shape::new(rows.len(), cols), &values);
        let (x, y) = (upload("x", file.d_in, x)?, upload("y", file.d_out, y)?);
        if let Some(part) = batch.part {
            sums.add((part, &batch.windows), &x, &y).await?;
        }
        let wanted = keeps.measured(&batch, pass.folds.len()).wanted;
        let x = store.keep_some(wanted.x.then_some(x)).await?;
        let y = store.keep_some(wanted.y.then_some(y)).await?;
        kept.push(Rows { batch, hidden: None, x, y, rest: None, next: None });
        meter.reach(rows.end as u64).await;
    }
    pass.add_seconds(|seconds| &mut seconds.forward, meter.seconds());
    let visit = Visit { store, index: 0, block: None, rows: kept, folds: pass.folds.len() };
    let mut solved = pass.solve(0, sums, 1).await?;
    pass.measure_solved(&visit, &mut solved, &mut measures).await
}

/// The ranges of consecutive windows, in order.
fn consecutive(windows: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for window in windows {
        match ranges.last_mut() {
            Some(range) if range.end == window => range.end += 1,
            _ => ranges.push(window..window + 1),
        }
    }
    ranges
}
