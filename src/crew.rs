//! Blocks solved beside each other: on the machine's threads natively, on workers of its own in a browser.

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::error::Result;
use crate::moments::Moments;
use crate::parallel;
use crate::solve::{BlockScore, score_block};

/// Solves blocks, several at once.
pub trait Crew {
    /// Blocks that are worth handing over at the same time, at least one.
    fn hands(&self) -> usize;

    /// [`score_block`] of the block's folds, wherever there is a hand free; `None` where that hand got lost, in a process
    /// without memory for it. Dropping the future drops the wish for the answer.
    fn score(&self, block: usize, folds: Vec<Moments>) -> LocalBoxFuture<'_, Result<Option<BlockScore>>>;

    /// Bytes that the hands have needed so far beside this process or module.
    fn bytes(&self) -> u64 {
        0
    }
}

/// This process: its threads, or the one that asks where there are no others.
pub struct OwnThreads;

/// Every block at work takes memory for about thirty matrices of its width squared.
const MOST: usize = 4;

impl Crew for OwnThreads {
    fn hands(&self) -> usize {
        parallel::threads().min(MOST)
    }

    fn score(&self, block: usize, folds: Vec<Moments>) -> LocalBoxFuture<'_, Result<Option<BlockScore>>> {
        parallel::aside(move || score_block(block, &folds)).map(Option::transpose).boxed_local()
    }
}
