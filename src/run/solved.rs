//! From rows to solved blocks: second moments, fits, and what only the held-out rows themselves can tell.
//!
//! The held-out rows are looked at once more after the fit, for cosines. Where forward passes are dear, maps are fitted
//! before these rows have been shown at all, and they are shown once.

use std::cell::Cell;
use std::ops::Range;

use futures::{FutureExt, StreamExt, stream};

use super::heldout::{self, Asked, Seen};
use super::rows::{self, RowSource};
use super::{Pass, Solved};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, MapDump, Stage};
use crate::job::Measure;
use crate::report::{BlockReport, Seconds, finite};
use crate::solve::{self, AffineMap, BlockScore, EarlyFit, HeadlineFit, InputDistribution};

impl Solved {
    /// Takes in what moments could not tell.
    fn see(&mut self, Seen { cosine, scatter }: Seen) {
        // Rows of zeros have no direction.
        self.report.cosine = finite(cosine).filter(|_| self.report.r2_lin.is_some());
        self.report.scatter = Some(scatter);
    }
}

/// A map with its block, as plain data.
fn dump(block: usize, map: &AffineMap) -> MapDump {
    let AffineMap { weight, mean_x, deviation_x, mean_y, rank: _ } = map.clone();
    MapDump { block, weight, bias: map.bias(), mean_x, deviation_x, mean_y }
}

impl<B: Backend> Pass<'_, B> {
    /// The fit of every block, cosines included.
    pub(super) async fn fit(&self, source: &impl RowSource<B>, seconds: &mut Seconds) -> Result<Vec<Solved>> {
        // Boxed, so that a module has no more than one of them for every backend.
        if B::SHOWS_ONCE {
            self.fit_then_look(source, seconds).boxed_local().await
        } else {
            self.solve_then_look(source, seconds).boxed_local().await
        }
    }

    async fn fit_then_look(&self, source: &impl RowSource<B>, seconds: &mut Seconds) -> Result<Vec<Solved>> {
        let blocks = source.blocks();
        let mut grams = self.accumulate(source, 0..self.folds.len() - 1, seconds).await?;
        let fits = self.fits(blocks, &grams, seconds).await?;
        let maps = fits.iter().map(|early| Asked { map: &early.map, deviation_y: &early.deviation_y });
        let seen = self.look(source, maps.collect(), Some(&mut grams), seconds).await?;
        let known = fits.into_iter().map(|early| early.fit).zip(seen).map(Some);
        self.solve_all(blocks, grams, known.collect(), seconds).await
    }

    async fn solve_then_look(&self, source: &impl RowSource<B>, seconds: &mut Seconds) -> Result<Vec<Solved>> {
        let blocks = source.blocks();
        let grams = self.accumulate(source, 0..self.folds.len(), seconds).await?;
        let mut solved = self.solve_all(blocks, grams, blocks.iter().map(|_| None).collect(), seconds).await?;
        let maps = solved.iter().map(|block| Asked { map: &block.map, deviation_y: &block.deviation_y });
        let seen = self.look(source, maps.collect(), None, seconds).await?;
        for (block, seen) in solved.iter_mut().zip(seen) {
            block.see(seen);
            self.out.send(Event::Block(Box::new(block.report.clone())));
        }
        Ok(solved)
    }

    /// Second moments over some folds, from the first one on.
    async fn accumulate(
        &self,
        source: &impl RowSource<B>,
        folds: Range<usize>,
        seconds: &mut Seconds,
    ) -> Result<Vec<B::Gram>> {
        let protocol = &self.job.protocol;
        let rows = self.folds.windows(folds.end - 1).end * protocol.seq_len;
        let measure = self.out.stage(Stage::Measure, rows as u64);
        let grams = rows::accumulate(self.backend, source, self.folds, folds, protocol, &measure).await?;
        seconds.forward += measure.seconds();
        Ok(grams)
    }

    /// What moments of the held-out rows cannot tell of every block, and these moments where they are `lacking`.
    async fn look(
        &self,
        source: &impl RowSource<B>,
        asked: Vec<Asked<'_>>,
        lacking: Option<&mut [B::Gram]>,
        seconds: &mut Seconds,
    ) -> Result<Vec<Seen>> {
        let protocol = &self.job.protocol;
        let heldout = self.folds.windows(self.folds.len() - 1).len() * protocol.seq_len;
        let score = self.out.stage(Stage::Score, heldout as u64);
        let seen = heldout::look(self.backend, source, &asked, lacking, self.folds, protocol, &score).await?;
        seconds.forward += score.seconds();
        Ok(seen)
    }

    /// The fits of all blocks, before the held-out rows are known.
    async fn fits(&self, blocks: &[usize], grams: &[B::Gram], seconds: &mut Seconds) -> Result<Vec<EarlyFit>> {
        let stage = self.out.stage(Stage::Fit, grams.len() as u64);
        let each = blocks.iter().zip(grams).map(|(&block, gram)| async move {
            Ok(match self.crew.fit(block, self.backend.moments(gram).boxed_local()).await? {
                Some(fit) => fit,
                None => EarlyFit::new(block, &self.backend.moments(gram).await?)?,
            })
        });
        // Without threads one after the other, which takes less of a module.
        #[cfg(target_arch = "wasm32")]
        let mut fitting = std::pin::pin!(stream::iter(each).then(|fit| fit));
        #[cfg(not(target_arch = "wasm32"))]
        let mut fitting = stream::iter(each).buffered(self.crew.hands());
        let mut fits = Vec::new();
        while let Some(fit) = fitting.next().await {
            fits.push(fit?);
            stage.reach(fits.len() as u64).await;
        }
        seconds.solve += stage.seconds();
        Ok(fits)
    }

    /// The scores of all blocks, of which a fit and what was seen may be `known`.
    async fn solve_all(
        &self,
        blocks: &[usize],
        grams: Vec<B::Gram>,
        known: Vec<Option<(HeadlineFit, Seen)>>,
        seconds: &mut Seconds,
    ) -> Result<Vec<Solved>> {
        let solve = self.out.stage(Stage::Solve, grams.len() as u64);
        let each = blocks.iter().zip(grams).zip(known);
        let each = each.map(|((&block, gram), known)| self.solve(block, gram, known));
        let mut solving = stream::iter(each).buffered(self.crew.hands());
        let mut solved = Vec::new();
        while let Some(found) = solving.next().await {
            solved.push(self.tell(found?));
            solve.reach(solved.len() as u64).await;
        }
        drop(solving);
        seconds.solve += solve.seconds();
        Ok(solved)
    }

    /// Takes the accumulators, so that a block's device memory is free as soon as it is solved.
    async fn solve(&self, block: usize, gram: B::Gram, known: Option<(HeadlineFit, Seen)>) -> Result<Solved> {
        let (fit, seen) = known.unzip();
        let inputs = Cell::new(None);
        let folds = async {
            let folds = self.backend.moments(&gram).await?;
            if self.asks(Measure::Controls) {
                inputs.set(Some(InputDistribution::new(block, &folds)?));
            }
            Ok(folds)
        };
        let score = match self.crew.score(block, fit, folds.boxed_local()).await? {
            Some(score) => score,
            None => solve::score_block(block, &self.backend.moments(&gram).await?)?,
        };
        let BlockScore { report, heldout_variation, map, deviation_y, directions } = score;
        let directions = self.asks(Measure::RankSwap).then_some(directions);
        let mut solved = Solved { report, heldout_variation, map, deviation_y, directions, inputs: inputs.take() };
        if let Some(seen) = seen {
            solved.see(seen);
        }
        Ok(solved)
    }

    /// Passes a block's numbers on.
    fn tell(&self, solved: Solved) -> Solved {
        self.warn(&solved.report, solved.map.mean_x.len());
        self.out.send(Event::Block(Box::new(solved.report.clone())));
        if self.job.dump_maps {
            self.out.send(Event::Map(Box::new(dump(solved.report.block, &solved.map))));
        }
        solved
    }

    fn warn(&self, report: &BlockReport, d_in: usize) {
        let block = report.block;
        let train_rows = self.folds.train_rows(&self.job.protocol);
        if train_rows < 2 * d_in {
            let text = format!(
                "block {block}: {train_rows} training rows are fewer than twice the {d_in} inputs; R² is pessimistic"
            );
            self.out.warn("few_rows", Some(block), text);
        }
        if let Some(expected) = self.expected_rank.filter(|expected| report.rank < *expected) {
            let text = format!(
                "block {block}: rank {} where {expected} is expected; constant or dependent inputs were cut",
                report.rank
            );
            self.out.warn("clipped_rank", Some(block), text);
        }
        if report.r2_lin.is_none() {
            let text = format!("block {block}: the output does not vary on the held-out rows; R² is undefined");
            self.out.warn("no_variance", Some(block), text);
        }
    }
}
