//! A fork is the evaluated residual stream with one network or layer replaced, run on from there through the same
//! loaded weights as the original stream. Perplexity follows at the end, with one output head for all forks.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::layers::{LayerMeasure, MeasuredLayer};
use super::source::Source;
use super::state::{MeasuredBlock, Stream, Sweep};
use super::{RowStore, StoredRows, Visit};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::forward::ResidualTerms;
use crate::model::{Block, Head};
use crate::replacement::swap::Replacement;
use crate::run::evaluation::{BaseLoss, Loss, WindowLogits, next_tokens};
use crate::run::events::StageMeter;

/// All forks of a sweep.
pub(super) struct Forks<'s, 'a, B: Backend> {
    sweep: &'s Sweep<'a, B>,
    /// `None` if no perplexity is requested.
    meter: Option<StageMeter>,
    running: Vec<Fork<B::Tensor>>,
    /// Number of blocks or layers at which forks have started.
    begun: u64,
    done: u64,
}

/// One fork: the replaced block or layer, the name of the replacement, and the rows by evaluated batch.
pub(super) struct Fork<T> {
    pub(super) of: Of,
    pub(super) name: String,
    pub(super) hidden: Vec<StoredRows<T>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Of {
    Block(usize),
    Layer(usize),
}

impl<'s, 'a, B: Backend> Forks<'s, 'a, B> {
    pub(super) fn new(sweep: &'s Sweep<'a, B>) -> Self {
        let is_wanted = sweep.source.reading.batches.iter().any(|batch| batch.evaluated);
        let meter = is_wanted.then(|| sweep.pass.out.paused_stage(Stage::Swap, 0));
        Self { sweep, meter, running: Vec::new(), begun: 0, done: 0 }
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.meter.is_some()
    }

    /// Starts a fork at a block whose network is replaced.
    pub(super) async fn of_block(
        &mut self,
        visit: &Visit<'_, B>,
        name: &str,
        replacement: &Replacement<B::Tensor>,
    ) -> Result<()> {
        let Some(block) = visit.block.as_ref().filter(|_| self.are_wanted()) else { return Ok(()) };
        let (pass, Source { store, layers, .. }) = (self.sweep.pass, self.sweep.source);
        let mut hidden = Vec::new();
        for rows in &visit.rows {
            if let (Some(x), Some(rest)) = (&rows.x, &rows.rest) {
                let y = replacement.apply(pass.backend, &store.tensor(x)?)?;
                hidden.push(store.keep(layers.leave(block, &tensors(store, rest)?, &y)?).await?);
            }
        }
        self.start(Of::Block(visit.index), name, hidden);
        Ok(())
    }

    /// Starts the forks of a layer: removed, and replaced by its affine map.
    pub(super) async fn of_layer(&mut self, visit: &Visit<'_, B>, layer: MeasuredLayer<B::Tensor>) -> Result<()> {
        if !self.are_wanted() {
            return Ok(());
        }
        let (pass, store) = (self.sweep.pass, self.sweep.source.store);
        for (name, map) in [("removed", None), ("linear", Some(&layer.map))] {
            let mut hidden = Vec::new();
            for rows in visit.rows.iter().filter(|rows| rows.batch.evaluated) {
                let Some(before) = &rows.hidden else { continue };
                let before = store.tensor(before)?;
                let after = match map {
                    Some(map) => map.apply(pass.backend, &before)?,
                    None => before,
                };
                hidden.push(store.keep(after).await?);
            }
            self.start(Of::Layer(visit.index), name, hidden);
        }
        Ok(())
    }

    /// The running forks.
    pub(super) fn running(&self) -> &[Fork<B::Tensor>] {
        &self.running
    }

    /// Adds a fork with its rows.
    pub(super) fn start(&mut self, of: Of, name: &str, hidden: Vec<StoredRows<B::Tensor>>) {
        if self.running.last().is_none_or(|last| last.of != of) {
            self.begun += 1;
        }
        self.running.push(Fork { of, name: name.into(), hidden });
    }

    /// Takes all forks through a block.
    pub(super) async fn carry(&mut self, block: &Block<B::Tensor>, index: usize) -> Result<()> {
        let Some(meter) = self.meter.as_ref().filter(|_| !self.running.is_empty()) else { return Ok(()) };
        meter.resume();
        let total = self.total(index);
        let (pass, Source { store, layers, .. }) = (self.sweep.pass, self.sweep.source);
        for fork in &mut self.running {
            for kept in &mut fork.hidden {
                *kept = store.keep(layers.pass(block, &store.tensor(kept)?)?.next).await?;
            }
            pass.backend.batch_end(None).await?;
            self.done += 1;
            let rows = self.sweep.evaluated_rows();
            meter.report_and_yield(rows * self.done, rows * total).await;
        }
        meter.pause();
        Ok(())
    }

    /// Estimated passes through blocks and heads, if later blocks start as many forks as earlier ones.
    fn total(&self, index: usize) -> u64 {
        let blocks = (self.sweep.source.checkpoint.config().num_hidden_layers - index) as u64;
        let (running, each) = (self.running.len() as u64, self.running.len() as u64 / self.begun.max(1));
        // The head counts as a block. A fork skips the blocks before its own.
        let to_come: u64 = (1..=blocks).sum();
        self.done + running * (blocks + 1) + each * (to_come - 1)
    }

    /// Computes the loss of the original model, which it returns, and of every fork for the reports.
    pub(super) async fn finish(
        mut self,
        stream: &Stream<B::Tensor>,
        swept: &mut [MeasuredBlock],
        layers: Option<LayerMeasure<'a, B>>,
    ) -> Result<Option<BaseLoss>> {
        let mut layers = layers.map(LayerMeasure::into_reports).unwrap_or_default();
        let pass = self.sweep.pass;
        let mut base = None;
        if let Some(meter) = self.meter.take() {
            meter.resume();
            let head = self.sweep.head().await?;
            let batches = self.sweep.source.reading.batches.iter().zip(stream).filter(|(batch, _)| batch.evaluated);
            let untouched: Vec<&StoredRows<_>> = batches.map(|(_, kept)| &**kept).collect();
            let untouched = self.sweep.loss(head.as_ref(), &untouched).await?;
            let untouched = BaseLoss::new(untouched, pass.job.protocol.seed)?;
            let running = std::mem::take(&mut self.running);
            let (total, rows) = (self.done + running.len() as u64, self.sweep.evaluated_rows());
            let mut running = running.into_iter().peekable();
            while let Some(Fork { of, name, hidden }) = running.next() {
                let hidden: Vec<&StoredRows<_>> = hidden.iter().collect();
                let loss = self.sweep.loss(head.as_ref(), &hidden).await?;
                let delta = untouched.change(loss.as_ref())?;
                let found = untouched.uncertainty(loss.as_ref());
                let number = format!("delta_ppl_{name}");
                let is_last = running.peek().is_none_or(|next| next.of != of);
                match of {
                    Of::Block(index) => {
                        if let Some(MeasuredBlock { report, .. }) =
                            swept.iter_mut().find(|swept| swept.report.block == index)
                        {
                            report.add_uncertainty(number, found);
                            report.delta_ppl.insert(name, delta);
                            if is_last {
                                pass.out.emit(Event::Block(Box::new(report.clone()))).await;
                            }
                        }
                    }
                    Of::Layer(index) => {
                        layers[index].add_uncertainty(number, found);
                        layers[index].delta_ppl.insert(name, delta);
                    }
                }
                self.done += 1;
                meter.report_and_yield(rows * self.done, rows * total).await;
            }
            pass.add_seconds(|seconds| &mut seconds.swap, meter.seconds());
            pass.explain_undefined(head.is_some().then_some(untouched.ppl));
            base = Some(untouched);
        }
        for report in layers {
            pass.out.emit(Event::Layer(Box::new(report))).await;
        }
        Ok(base)
    }
}

fn tensors<B: Backend>(
    store: &RowStore<'_, B>,
    rest: &ResidualTerms<StoredRows<B::Tensor>>,
) -> Result<ResidualTerms<B::Tensor>> {
    Ok(match rest {
        ResidualTerms::Sequential(middle) => ResidualTerms::Sequential(store.tensor(middle)?),
        ResidualTerms::Parallel(attended, hidden) => {
            ResidualTerms::Parallel(store.tensor(attended)?, store.tensor(hidden)?)
        }
    })
}

impl<B: Backend> Sweep<'_, B> {
    /// The output head, for logits.
    pub(super) async fn head(&self) -> Result<Option<Rc<Head<B::Tensor>>>> {
        let heard = |bytes| self.load.add(bytes);
        let head = self.source.checkpoint.head(self.pass.backend, &heard);
        Ok(self.load.during(head).await?.map(Rc::new))
    }

    fn evaluated_rows(&self) -> u64 {
        self.source
            .reading
            .batches
            .iter()
            .filter(|batch| batch.evaluated)
            .map(|batch| self.source.reading.ids(batch).len() as u64)
            .sum()
    }

    /// Loss on the evaluated rows, given their last residual stream by batch; `None` without an output head.
    pub(super) async fn loss(
        &self,
        head: Option<&Rc<Head<B::Tensor>>>,
        hidden: &[&StoredRows<B::Tensor>],
    ) -> Result<Option<Loss>> {
        let Some(head) = head else { return Ok(None) };
        let mut loss = Loss::default();
        let batches = self.source.reading.batches.iter().filter(|batch| batch.evaluated);
        for (batch, kept) in batches.zip(hidden) {
            let (vocab_size, seq_len) = (self.source.checkpoint.config().vocab_size, self.pass.job.protocol.seq_len);
            let of_rows = |rows: &B::Tensor| self.source.layers.logits(head, rows);
            let logits = WindowLogits { vocab_size, seq_len, of_rows: &of_rows };
            let targets = next_tokens(self.source.reading.ids(batch));
            loss.add(self.pass.backend, &self.source.store.tensor(kept)?, &targets, &logits).await?;
        }
        Ok(Some(loss))
    }
}
