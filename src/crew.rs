//! Blocks solved beside each other: on the machine's threads natively, with the help of another worker in a browser.

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::error::Result;
use crate::moments::Moments;
use crate::parallel;
use crate::solve::{BlockScore, EarlyFit, HeadlineFit, score_block, score_fitted};

/// The moments of a block's folds, once they are asked for.
pub type Folds<'a> = LocalBoxFuture<'a, Result<Vec<Moments>>>;

/// Solves blocks, several at once.
pub trait Crew {
    /// Blocks that are worth handing over at the same time, at least one.
    fn hands(&self) -> usize;

    /// The fit of the block's folds but the last one, which need not have any rows yet; `None` as below.
    fn fit<'a>(&'a self, block: usize, folds: Folds<'a>) -> LocalBoxFuture<'a, Result<Option<EarlyFit>>> {
        let fitted = async move {
            let folds = folds.await?;
            parallel::aside(move || EarlyFit::new(block, &folds)).await.transpose()
        };
        fitted.boxed_local()
    }

    /// [`score_block`] of the block's folds, which are read when there is room for them, or [`score_fitted`] where the
    /// fit is known; `None` where whoever had a part in it got lost, in a process without memory for it. Dropping the
    /// future drops the wish for the answer.
    fn score<'a>(
        &'a self,
        block: usize,
        fit: Option<HeadlineFit>,
        folds: Folds<'a>,
    ) -> LocalBoxFuture<'a, Result<Option<BlockScore>>>;

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

    fn score<'a>(
        &'a self,
        block: usize,
        fit: Option<HeadlineFit>,
        folds: Folds<'a>,
    ) -> LocalBoxFuture<'a, Result<Option<BlockScore>>> {
        let solved = async move {
            let folds = folds.await?;
            let score = move || match fit {
                Some(fit) => score_fitted(block, &fit, &folds),
                None => score_block(block, &folds),
            };
            parallel::aside(score).await.transpose()
        };
        solved.boxed_local()
    }
}
