//! Blocks solved while the next one runs: on the machine's threads natively, with the help of another worker in a
//! browser.

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::error::Result;
use crate::moments::Moments;
use crate::parallel;
use crate::solve::{BlockScore, score_block};

/// The moments of a block's folds, once they are asked for.
pub type Folds<'a> = LocalBoxFuture<'a, Result<Vec<Moments>>>;

/// Solves blocks.
pub trait Crew {
    /// [`score_block`] of the block's folds, which are read when there is room for them; `None` where whoever had a part
    /// in it got lost, in a process without memory for it. Dropping the future drops the wish for the answer.
    fn score<'a>(&'a self, block: usize, folds: Folds<'a>) -> LocalBoxFuture<'a, Result<Option<BlockScore>>>;

    /// Bytes that others have needed so far for it beside this process or module.
    fn bytes(&self) -> u64 {
        0
    }
}

/// This process: its threads, or the one that asks where there are no others.
pub struct OwnThreads;

impl Crew for OwnThreads {
    fn score<'a>(&'a self, block: usize, folds: Folds<'a>) -> LocalBoxFuture<'a, Result<Option<BlockScore>>> {
        let solved = async move {
            let folds = folds.await?;
            parallel::aside(move || score_block(block, &folds)).await.transpose()
        };
        solved.boxed_local()
    }
}
