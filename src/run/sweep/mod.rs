//! The sweep: all rows go through block 0, then all rows through block 1, and so on.
//!
//! The residual stream of all rows is kept between two blocks; only weights and sums of the blocks in progress exist. A
//! block's second moments are final once its rows are through. It is solved and measured while weights load and, but
//! for a browser on the CPU, the rows of later blocks run ([`unfinished`]). Its replacements then run on next to the original stream, as
//! rows of their own ([`forks`]).

mod block_pass;
mod captured_rows;
mod finish;
mod forks;
mod layers;
mod measuring;
mod orders;
mod properties;
mod resume;
mod rows;
mod run;
mod source;
mod spill;
mod state;
mod store;
mod unfinished;
mod visit;
mod window_sums;

pub(super) use captured_rows::of_rows;
pub(super) use layers::LayerMeasure;
pub use resume::standing;
pub(super) use resume::{adopt, is_claimed};
pub(super) use rows::{Batch, Cut, Reading, fold_batches};
pub(super) use source::Source;
pub use spill::ScratchFile;
pub(super) use spill::temporary;
pub(super) use state::{BlockMeasures, MeasuredBlock, Sweep, Swept};
pub(super) use store::{RowStore, StoredRows};
pub(super) use visit::{BlockMeasure, MeasureFuture, Rows, SolvedBlock, Visit, XyBatch};
pub(super) use window_sums::{RankGains, RowScores, WindowSums};
