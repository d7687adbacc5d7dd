//! Blocks whose rows are through and whose solve is in progress.
//!
//! Solving takes a processor longer than a fast GPU takes for the rows of a block, so several blocks are solved at the
//! same time, as far as workers and memory allow. They are measured in their order, as soon as each is solved.

use futures::channel::oneshot;
use futures::future::{Either, FutureExt, LocalBoxFuture, select};
use futures::stream::{FuturesOrdered, StreamExt};
use futures::try_join;

use super::block_pass::VisitedBlock;
use super::layers::MeasuredLayer;
use super::measuring::Measuring;
use super::state::{KeepPolicy, Stream, Sweep};
use super::visit::{SolvedBlock, Visit};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::platform::parallel;
use crate::report::{Warning, WarningKind};
use crate::trace::Lane;

/// A visit, and the solved block if it is measured.
type Solved<'a, B> = (Visit<'a, B>, Option<SolvedBlock<<B as Backend>::Tensor>>);

/// A visit and its results.
pub(super) struct MeasuredVisit<'a, B: Backend> {
    pub(super) visit: Visit<'a, B>,
    pub(super) solved: Option<SolvedBlock<B::Tensor>>,
    pub(super) layer: Option<MeasuredLayer<B::Tensor>>,
}

/// The unfinished blocks of a sweep.
pub(super) struct UnfinishedBlocks<'s, 'a, B: Backend> {
    solves: FuturesOrdered<LocalBoxFuture<'s, Result<Solved<'a, B>>>>,
    /// Most blocks that are being solved while the rows of the next one run; 0 if nothing overlaps.
    most: usize,
    /// Measured while rows ran, and not yet closed.
    measured: Vec<MeasuredVisit<'a, B>>,
    /// Index of the next block to be closed.
    next: usize,
    /// The block before which the state was saved last, or began.
    saved: usize,
    /// Whether the state is saved: not once that has failed.
    saves: bool,
    /// The rows that enter a block, kept until all blocks before it are closed and the sweep's state can be saved.
    entering: Option<(usize, Stream<B::Tensor>)>,
}

impl<'s, 'a, B: Backend> UnfinishedBlocks<'s, 'a, B> {
    /// None yet, before the block `first`.
    pub(super) fn new(sweep: &Sweep<'a, B>, keeps: &KeepPolicy, first: usize) -> Self {
        let (solves, most) = (FuturesOrdered::new(), most(sweep, keeps));
        let saves = sweep.pass.resume.is_some();
        Self { solves, most, measured: Vec::new(), next: first, saved: first, saves, entering: None }
    }

    /// Whether the rows that enter a block are to be saved.
    pub(super) fn saves(&self) -> bool {
        self.saves
    }

    /// Begins to solve a block.
    pub(super) fn add(&mut self, sweep: &'s Sweep<'a, B>, VisitedBlock { visit, sums }: VisitedBlock<'a, B>) {
        let most = self.most;
        let solve = async move {
            let solved = match sums {
                Some(sums) => {
                    let solve = sweep.pass.solve(visit.index, sums, most);
                    Some(sweep.pass.out.span(Lane::Solve, Some(visit.index), solve).await?)
                }
                None => None,
            };
            Ok((visit, solved))
        };
        self.solves.push_back(solve.boxed_local());
    }

    /// Runs `rows`, which take the rows `stream` through the block `index`, and measures blocks as soon as they are
    /// solved. Afterwards there is room for one more, and the measured blocks are closed.
    pub(super) async fn measure_during_rows<R>(
        &mut self,
        sweep: &Sweep<'a, B>,
        measuring: &mut Measuring<'_, 'a, B>,
        (index, stream): (usize, Option<Stream<B::Tensor>>),
        rows: impl Future<Output = Result<R>>,
    ) -> Result<R> {
        if self.most == 0 {
            self.finish(sweep, measuring).await?;
        }
        // Rows that are not to be saved are freed here, batch by batch as `rows` replaces them.
        if let Some(stream) = stream.filter(|_| self.entering.is_none() && index > self.saved) {
            self.entering = Some((index, stream));
            self.save(sweep, measuring).await?;
        }
        if self.most == 0 {
            return rows.await;
        }
        let left = self.most - 1;
        self.measure_during(sweep, measuring, left, rows).await
    }

    /// Awaits `work` and measures blocks as soon as they are solved; afterwards at most `left` are unsolved, and the
    /// measured ones are closed, also if `work` fails. Only a cancellation ends it at once.
    pub(super) async fn measure_during<R>(
        &mut self,
        sweep: &Sweep<'a, B>,
        measuring: &mut Measuring<'_, 'a, B>,
        left: usize,
        work: impl Future<Output = Result<R>>,
    ) -> Result<R> {
        let (running, done) = oneshot::channel::<()>();
        let work = async move {
            let found = work.await;
            drop(running);
            unless_cancelled(found)
        };
        let measured = async {
            let measured = self.measure_until(sweep, measuring, (left, done)).await;
            // A state from here on would lack the block that failed.
            self.saves &= measured.is_ok();
            measured
        };
        let ((), found) = try_join!(measured, work)?;
        self.close(sweep, measuring).await?;
        found
    }

    /// Measures and closes the blocks left.
    pub(super) async fn finish(&mut self, sweep: &Sweep<'a, B>, measuring: &mut Measuring<'_, 'a, B>) -> Result<()> {
        self.measure_during(sweep, measuring, 0, async { Ok(()) }).await
    }

    /// Measures blocks until `done`, and until at most `left` are unsolved.
    async fn measure_until(
        &mut self,
        sweep: &Sweep<'a, B>,
        measuring: &mut Measuring<'_, 'a, B>,
        (left, mut done): (usize, oneshot::Receiver<()>),
    ) -> Result<()> {
        while !self.solves.is_empty() {
            let solved = if self.solves.len() <= left {
                match select(self.solves.next(), &mut done).await {
                    Either::Left((solved, _)) => solved,
                    Either::Right(_) => return Ok(()),
                }
            } else {
                self.solves.next().await
            };
            let Some((visit, solved)) = solved.transpose()? else { return Ok(()) };
            self.measured.push(sweep.measure(visit, solved, measuring).await?);
        }
        Ok(())
    }

    /// Closes the measured blocks.
    async fn close(&mut self, sweep: &Sweep<'a, B>, measuring: &mut Measuring<'_, 'a, B>) -> Result<()> {
        for visit in std::mem::take(&mut self.measured) {
            self.next = visit.visit.index + 1;
            sweep.close(visit, measuring).await.inspect_err(|_| self.saves = false)?;
            self.save(sweep, measuring).await?;
        }
        Ok(())
    }

    /// Saves the sweep's state if all blocks before the rows kept for it are closed. A state that finds no room is no
    /// reason to end the measurement.
    async fn save(&mut self, sweep: &Sweep<'a, B>, measuring: &Measuring<'_, 'a, B>) -> Result<()> {
        if !self.saves {
            self.entering = None;
        }
        let Some((index, stream)) = self.entering.take_if(|(index, _)| *index == self.next) else { return Ok(()) };
        self.saved = index;
        match sweep.save(index, &stream, measuring).await {
            Err(Error::UnwritableFile { file, why }) => {
                self.saves = false;
                sweep.pass.out.warn(Warning::new(&WarningKind::NotResumable { file, why }));
                Ok(())
            }
            saved => saved,
        }
    }
}

/// Returns a failure as a value, so that concurrent work can finish. A cancellation, or damaged weights, ends
/// everything at once.
pub(super) fn unless_cancelled<T>(found: Result<T>) -> Result<Result<T>> {
    if matches!(found, Err(Error::Cancelled | Error::DamagedWeights { .. })) { found.map(Ok) } else { Ok(found) }
}

/// How many blocks may be solved while the rows of the next one run.
fn most<B: Backend>(sweep: &Sweep<'_, B>, KeepPolicy { all_rows, weights, layers, forks }: &KeepPolicy) -> usize {
    if B::IN_MEMORY && !parallel::HAS_THREADS {
        // A single thread gains nothing from overlapping them, and has no memory for two blocks' sums.
        return 0;
    }
    // Forks continue with the next block, and other measures keep more than the held-out rows of each block.
    if B::IN_MEMORY || *all_rows || *weights || *layers || *forks { 1 } else { sweep.pass.workers.solves_at_once() }
}
