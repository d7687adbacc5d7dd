//! Takes all rows through one block, on this thread and in shares on the helper workers.
//!
//! Shares are whole half-folds, so that second moments have the same digits whichever worker sums them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::iter::repeat_n;
use std::mem::take;
use std::ops::Range;
use std::rc::Rc;

use futures::future::{try_join, try_join_all};

use super::rows::Batch;
use super::state::{BatchKeep, KeepPolicy, Stream, Sweep};
use super::store::StoredRows;
use super::visit::{Rows, Visit};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::forward::{BlockOutput, ResidualTerms};
use crate::model::{Block, Residual};
use crate::run::events::StageMeter;
use crate::stats::moments::Moments;
use crate::trace::Lane;
use crate::workers::sums::{BlockSums, Scales};
use crate::workers::{self, RemoteBlock, RemoteSums, Worker};

/// Batches in flight per worker. Replies are only received between two local batches, which take as long as a worker's.
const IN_FLIGHT: usize = 4;

/// The rows of one block in progress.
pub(super) struct BlockPass<'p, 'a, B: Backend> {
    sweep: &'p Sweep<'a, B>,
    index: usize,
    block: Rc<Block<B::Tensor>>,
    is_measured: bool,
    keeps: &'p KeepPolicy,
    meter: &'p StageMeter,
    /// Residual stream before the block, by batch, as long as it is needed.
    entering: RefCell<Vec<Option<SharedRows<B::Tensor>>>>,
    /// Per finished batch, the rows kept and the residual stream after the block.
    finished: RefCell<Vec<Option<FinishedBatch<B::Tensor>>>>,
    done: Cell<u64>,
}

type SharedRows<T> = Rc<StoredRows<T>>;
type FinishedBatch<T> = (Rows<T>, SharedRows<T>);

/// The requested tensors of a batch.
struct BatchTensors<T> {
    x: Option<T>,
    y: Option<T>,
    rest: Option<ResidualTerms<T>>,
}

/// A block after all rows have passed it.
pub(super) struct VisitedBlock<'a, B: Backend> {
    pub(super) visit: Visit<'a, B>,
    /// `None` if the block is not measured.
    pub(super) sums: Option<BlockSums<'a, B>>,
}

impl<'p, 'a, B: Backend> BlockPass<'p, 'a, B> {
    /// A pass through the block `index`.
    pub(super) fn new(
        sweep: &'p Sweep<'a, B>,
        (index, block): (usize, Rc<Block<B::Tensor>>),
        keeps: &'p KeepPolicy,
        meter: &'p StageMeter,
    ) -> Self {
        let done = Cell::new(sweep.source.reading.rows() * index as u64);
        let is_measured = sweep.blocks.binary_search(&index).is_ok();
        let (entering, finished) = (RefCell::default(), RefCell::default());
        Self { sweep, index, block, is_measured, keeps, meter, entering, finished, done }
    }

    /// Takes all rows of `stream` through the block; afterwards `stream` holds the block's output.
    pub(super) async fn run(self, stream: &mut Stream<B::Tensor>) -> Result<VisitedBlock<'a, B>> {
        self.sweep.pass.out.span(Lane::Rows, Some(self.index), self.all(stream)).await
    }

    async fn all(&self, stream: &mut Stream<B::Tensor>) -> Result<VisitedBlock<'a, B>> {
        let Sweep { pass, source, .. } = self.sweep;
        self.finished.replace(stream.iter().map(|_| None).collect());
        self.entering.replace(take(stream).into_iter().map(Some).collect());
        let workers = if B::IN_MEMORY { pass.workers.all() } else { &[] };
        let (own, others) = shares(&source.reading.batches, workers.len());
        let mut sums = self.sums(None);
        // The first batch sets the scales that all workers use.
        let (first, rest) = own.split_at(own.len().min(1));
        self.run_here(first, &mut sums).await?;
        let scales = sums.as_ref().and_then(|sums| sums.scales().cloned());
        // The workers first: in memory, a batch here runs to its end before anything else is polled.
        let on_workers = self.run_on_workers(workers, &others, scales);
        let (found, ()) = try_join(on_workers, self.run_here(rest, &mut sums)).await?;
        if let Some(sums) = &mut sums {
            found.into_iter().for_each(|moments| sums.merge(moments));
        }
        let (rows, next) = self.finished.take().into_iter().flatten().unzip();
        *stream = next;
        let block = (self.is_measured && self.keeps.weights).then(|| self.block.clone());
        let visit = Visit { store: source.store, index: self.index, block, rows, folds: pass.folds.len() };
        Ok(VisitedBlock { visit, sums })
    }

    fn sums(&self, scales: Option<Scales>) -> Option<BlockSums<'a, B>> {
        let pass = self.sweep.pass;
        let new = || BlockSums::new(pass.backend, self.index, pass.folds.len(), &pass.job.protocol, scales);
        self.is_measured.then(new)
    }

    /// What is kept of a batch.
    fn keep(&self, batch: &Batch) -> BatchKeep {
        match self.is_measured {
            true => self.keeps.measured(batch, self.sweep.pass.folds.len()),
            false => self.keeps.unmeasured(batch),
        }
    }

    /// Takes the batches `share` through the block on this thread.
    async fn run_here(&self, share: &[usize], sums: &mut Option<BlockSums<'a, B>>) -> Result<()> {
        let Sweep { pass, source, .. } = self.sweep;
        for &at in share {
            let Some(place) = self.entering.borrow_mut()[at].take() else { continue };
            let batch = &source.reading.batches[at];
            let passed = source.layers.pass(&self.block, &source.store.tensor(&place)?)?;
            match (&mut *sums, batch.part) {
                (Some(sums), Some(part)) => sums.add((part, &batch.windows), &passed.x, &passed.y).await?,
                _ => pass.backend.batch_end(None).await?,
            }
            let BlockOutput { x, y, rest, next } = passed;
            let wanted = self.keep(batch).wanted;
            let (x, y, rest) = (wanted.x.then_some(x), wanted.y.then_some(y), wanted.rest.then_some(rest));
            self.finish_batch(at, place, BatchTensors { x, y, rest }, next).await?;
        }
        Ok(())
    }

    /// Runs the shares on the workers and returns the moments of each. The share of a worker that has ended is redone
    /// here.
    async fn run_on_workers(
        &self,
        workers: &[Rc<dyn Worker>],
        shares: &[Range<usize>],
        scales: Option<Scales>,
    ) -> Result<Vec<Vec<(usize, Moments)>>> {
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        let Sweep { pass, source, .. } = self.sweep;
        let (block, weights) = workers::copied(pass.backend, &self.block).await?;
        let passage = workers::BlockTask {
            index: self.index,
            config: source.checkpoint.config().clone(),
            block,
            protocol: pass.job.protocol.clone(),
            folds: pass.folds.len(),
            scales: scales.clone(),
        };
        // The last worker takes the block itself, without a copy.
        let blocks = repeat_n((passage, weights), workers.len().min(shares.len()));
        let on_workers = workers.iter().zip(shares).zip(blocks).map(|((worker, share), (passage, weights))| {
            self.run_share(RemoteBlock::begin(&**worker, passage, weights), share.clone())
        });
        let on_workers: Vec<_> = on_workers.collect();
        let mut found = Vec::with_capacity(shares.len());
        for ((worker, sums), share) in try_join_all(on_workers).await?.into_iter().enumerate().zip(shares) {
            found.push(match sums {
                Some(RemoteSums { folds, time }) => {
                    pass.out.helper_span(Lane::Rows, self.index, (worker, time));
                    folds
                }
                None => self.redo(share.clone(), scales.clone()).await?,
            });
        }
        Ok(found)
    }

    /// Runs one worker's share; `None` if the worker has ended.
    async fn run_share(&self, passing: RemoteBlock<'_>, share: Range<usize>) -> Result<Option<RemoteSums>> {
        let Sweep { pass, source, .. } = self.sweep;
        let (mut in_flight, mut waiting) = (VecDeque::new(), share.clone());
        let (mut passing, mut sums) = (Some(passing), None);
        loop {
            while in_flight.len() < IN_FLIGHT
                && let Some(at) = waiting.next()
            {
                let Some(place) = self.entering.borrow()[at].clone() else { continue };
                let batch = &source.reading.batches[at];
                let wanted = self.keep(batch).wanted;
                let hidden = source.store.values(&place).await?;
                let rows = (batch.part, batch.windows.clone());
                let answer = passing.as_ref().map(|passing| passing.rows(rows, hidden, wanted));
                in_flight.push_back((at, place, wanted, answer));
            }
            if waiting.is_empty() {
                sums = passing.take().map(RemoteBlock::moments).or(sums);
            }
            let Some((at, place, wanted, answer)) = in_flight.pop_front() else { break };
            let Some(values) = answer_of(answer).await? else { return Ok(None) };
            let shape = Shape::new(place.rows(), place.cols());
            let mut values = values.into_iter();
            let mut tensor = || pass.backend.upload("rows", shape, &values.next().unwrap_or_default());
            let next = tensor()?;
            let x = if wanted.x { Some(tensor()?) } else { None };
            let y = if wanted.y { Some(tensor()?) } else { None };
            let rest = match (wanted.rest, source.checkpoint.config().residual) {
                (false, _) => None,
                (true, Residual::Parallel) => Some(ResidualTerms::Parallel(tensor()?, tensor()?)),
                (true, _) => Some(ResidualTerms::Sequential(tensor()?)),
            };
            self.finish_batch(at, place, BatchTensors { x, y, rest }, next).await?;
        }
        let sums = answer_of(sums).await?;
        if sums.is_some() {
            self.entering.borrow_mut()[share].iter_mut().for_each(|place| *place = None);
        }
        Ok(sums)
    }

    /// Redoes the share of a worker that has ended; returns its moments.
    async fn redo(&self, share: Range<usize>, scales: Option<Scales>) -> Result<Vec<(usize, Moments)>> {
        let mut sums = self.sums(scales);
        self.run_here(&share.collect::<Vec<_>>(), &mut sums).await?;
        let moments = match sums {
            Some(sums) => sums.moments().await?,
            None => Vec::new(),
        };
        Ok(moments.into_iter().enumerate().filter(|(_, moments)| moments.n > 0).collect())
    }

    /// Stores the requested tensors of a finished batch.
    async fn finish_batch(
        &self,
        at: usize,
        place: SharedRows<B::Tensor>,
        BatchTensors { x, y, rest }: BatchTensors<B::Tensor>,
        next: B::Tensor,
    ) -> Result<()> {
        let source = self.sweep.source;
        let (store, batch) = (source.store, &source.reading.batches[at]);
        let keep = self.keep(batch);
        let next = Rc::new(store.keep(next).await?);
        let rows = Rows {
            batch: batch.clone(),
            hidden: keep.hidden.then_some(place),
            x: store.keep_some(x).await?,
            y: store.keep_some(y).await?,
            rest: match rest {
                Some(ResidualTerms::Sequential(middle)) => Some(ResidualTerms::Sequential(store.keep(middle).await?)),
                Some(ResidualTerms::Parallel(attended, hidden)) => {
                    Some(ResidualTerms::Parallel(store.keep(attended).await?, store.keep(hidden).await?))
                }
                None => None,
            },
            next: keep.next.then(|| next.clone()),
        };
        let before = self.finished.borrow_mut()[at].replace((rows, next));
        if before.is_none() {
            self.done.set(self.done.get() + source.reading.ids(batch).len() as u64);
        }
        self.meter.reach(self.done.get()).await;
        Ok(())
    }
}

/// Awaits a reply if a request was sent.
async fn answer_of<T>(answer: Option<impl Future<Output = Result<Option<T>>>>) -> Result<Option<T>> {
    match answer {
        Some(answer) => answer.await,
        None => Ok(None),
    }
}

/// Splits the batches into those run here and one range per worker, of about equal size and cut between half-folds. The
/// first batch is always run here.
fn shares(batches: &[Batch], workers: usize) -> (Vec<usize>, Vec<Range<usize>>) {
    let begins = |at: &usize| *at == 0 || batches[*at].part.is_none() || batches[at - 1].part != batches[*at].part;
    let mut cuts: Vec<usize> = (0..batches.len()).filter(begins).collect();
    cuts.push(batches.len());
    let first = cuts.get(1).copied().unwrap_or_default();
    // The first half-fold is run here, and so are the last ones.
    let cut = |worker: usize| {
        let at = first + worker * batches.len() / (workers + 1);
        cuts[1..].iter().copied().min_by_key(|cut| cut.abs_diff(at)).unwrap_or(first)
    };
    let others: Vec<_> =
        (0..workers).map(|worker| cut(worker)..cut(worker + 1)).filter(|share| !share.is_empty()).collect();
    let last = others.last().map_or(first, |share| share.end);
    ((0..first).chain(last..batches.len()).collect(), others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers::sums::HalfFold;

    #[test]
    fn shares_are_whole_parts_of_about_the_same_size() {
        let fold =
            |fold| [0, 0, 1].map(|half| Batch { part: Some(HalfFold { fold, half }), evaluated: false, windows: 0..8 });
        let batches: Vec<Batch> = (0..5).flat_map(fold).collect();
        assert_eq!(shares(&batches, 0), ((0..15).collect(), vec![]));
        assert_eq!(shares(&batches, 1), ([0, 1, 9, 10, 11, 12, 13, 14].into(), vec![2..9]));
        let (own, others) = shares(&batches, 3);
        assert_eq!((own, others), ([0, 1, 12, 13, 14].into(), vec![2..5, 5..9, 9..12]));
        let (own, others) = shares(&batches, 40);
        let mut all: Vec<usize> = own.into_iter().chain(others.into_iter().flatten()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..15).collect::<Vec<_>>(), "every batch once");
        assert_eq!(shares(&[], 2), (vec![], vec![]));
    }
}
