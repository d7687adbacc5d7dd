//! One block's scores: fit on the training folds, score on the held-out fold, cross-validate over all folds.

use super::parts::{HeadlineFit, Remainder};
use super::score::BlockScore;
use crate::error::Result;
use crate::platform::parallel;
use crate::stats::moments::Moments;

/// Fits and scores `block` from the moments of its folds; the last fold is held out and carries the full yyᵀ.
///
/// Only Cov(ŷ) needs eigenvectors; correlations and Cov(x) need eigenvalues only, and the other folds neither
/// (`folds`). Independent steps run in parallel.
pub fn score_block(block: usize, folds: &[Moments]) -> Result<BlockScore> {
    let (fit, rest) = parallel::join(|| HeadlineFit::new(block, folds), || Remainder::new(block, folds));
    let (fit, rest) = (fit?, rest?);
    let (score, rest) = parallel::join(|| fit.score(folds), || rest.finish(folds, fit.kept()));
    Ok(score?.complete(rest?))
}
