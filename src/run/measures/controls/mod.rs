//! `controls`: every block's fit under other conditions, which separates learned structure from architecture, and
//! weights from inputs, as causes of linearity (docs/measures.md, section 6).

mod companion;
mod sources;

use std::collections::BTreeMap;

use futures::FutureExt;

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::{Error, Result};
use crate::event::{Event, Stage};
use crate::job::Protocol;
use crate::model::{Draw, Ffn};
use crate::report::{ControlReport, Warning, WarningKind};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Source, Visit, XyBatch};
use crate::solve::{self, InputColumns};
use crate::workers::sums::{BlockSums, HalfFold};

use companion::{ControlModel, ControlRows};
use sources::{GaussianInputs, MomentMatch, NormalRows};

/// Keys of [`crate::report::BlockReport::controls`].
const FIRST_POSITION: &str = "first_position";
const SHUFFLED: &str = "shuffled";
const REINIT_BLOCK: &str = "reinit_block";
const REINIT_MODEL: &str = "reinit_model";
const GAUSSIAN: &str = "gaussian";
const CROSS_FEED: &str = "cross_feed";
const CROSS_FEED_MATCHED: &str = "cross_feed_matched";

/// Controls that need neither a second model nor random numbers.
const PLAIN: u64 = 1;
/// Controls that are drawn, once for every seed.
const DRAWN: u64 = 4;
/// Controls that need a second model.
const FED: u64 = 2;

/// The controls of all blocks.
pub(super) struct Controls<'a, B: Backend> {
    pass: &'a Pass<'a, B>,
    source: Source<'a, B>,
    meter: StageMeter,
    /// The protocol with the first position skipped, or included again; `None` if that is not possible.
    first_position: Option<Protocol>,
    drawn: Vec<Drawn<'a, B>>,
    feed: Option<FeedingModel<'a, B>>,
}

/// What stays of one seed between blocks.
struct Drawn<'a, B: Backend> {
    seed: u64,
    /// The re-initialised model.
    model: ControlModel<'a, B>,
    normals: Option<NormalRows<B::Tensor>>,
}

/// Another model that feeds the networks of the blocks both have.
struct FeedingModel<'a, B: Backend> {
    companion: ControlModel<'a, B>,
    folds: &'a Folds,
    blocks: usize,
}

impl<'a, B: Backend> Controls<'a, B> {
    /// Controls for `blocks` of `source`; `feed` is the feeding model with its name.
    pub(super) fn new(
        pass: &'a Pass<'a, B>,
        source: Source<'a, B>,
        feed: Option<(&'a str, Source<'a, B>)>,
        blocks: &[usize],
    ) -> Self {
        let training = &pass.job.training;
        let of_seed = |seed| Drawn { seed, model: ControlModel::drawn(pass.backend, source, seed), normals: None };
        let drawn: Vec<_> = training.seeds_from(pass.job.protocol.seed).map(of_seed).collect();
        let first_position = other_positions(pass, source.checkpoint.config().hidden_size);
        let own = PLAIN + DRAWN * training.seeds as u64;
        let mut total = own * pass.rows(pass.folds) * blocks.len() as u64;
        let feed = feed.map(|(name, feed)| {
            let there = feed.checkpoint.config().num_hidden_layers;
            if let Some(first) = blocks.iter().find(|block| **block >= there) {
                let kind = WarningKind::FeedBlocks { name: name.to_string(), blocks: there, first: *first };
                pass.out.warn(Warning::new(&kind));
            }
            let fed = blocks.iter().filter(|block| **block < there).count() as u64;
            total += FED * pass.rows(feed.reading.folds) * fed;
            FeedingModel {
                companion: ControlModel::stored(pass.backend, feed),
                folds: feed.reading.folds,
                blocks: there,
            }
        });
        let meter = pass.out.paused_stage(Stage::Controls, total);
        Self { pass, source, meter, first_position, drawn, feed }
    }

    async fn all(&mut self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        let Some(block) = &visit.block else { return Ok(()) };
        self.meter.resume();
        self.first_position(visit, solved).await?;
        let mut seeds: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for at in 0..self.drawn.len() {
            let seed = self.drawn[at].seed;
            let fitted = self.shuffled(visit, &block.ffn, seed).await;
            self.put_drawn(SHUFFLED, (at, fitted), solved, &mut seeds).await?;
            let fitted = self.reinit_block(visit, seed).await;
            self.put_drawn(REINIT_BLOCK, (at, fitted), solved, &mut seeds).await?;
            let fitted = self.reinit_model(visit.index, at).await;
            self.put_drawn(REINIT_MODEL, (at, fitted), solved, &mut seeds).await?;
            let fitted = self.gaussian(visit.index, (&block.ffn, at), solved).await;
            self.put_drawn(GAUSSIAN, (at, fitted), solved, &mut seeds).await?;
        }
        if self.drawn.len() > 1 {
            solved.report.seeds.append(&mut seeds);
            self.pass.out.emit(Event::Block(Box::new(solved.report.clone()))).await;
        }
        if self.feed.as_ref().is_some_and(|feed| visit.index < feed.blocks) {
            self.cross_feed(visit.index, &block.ffn, solved).await?;
        }
        self.meter.pause();
        self.pass.set_seconds(|seconds| &mut seconds.controls, &self.meter);
        Ok(())
    }

    /// Without position 0 of each window, or with it if the protocol skips it already.
    async fn first_position(&mut self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        let Some(protocol) = &self.first_position else {
            self.meter.advance(self.pass.rows(self.pass.folds)).await;
            self.send_updated(FIRST_POSITION, ControlReport::default(), solved).await;
            return Ok(());
        };
        let mut fit = self.fit(visit.index, self.pass.folds, protocol);
        let mut added = Ok(());
        for pair in visit.pairs() {
            let XyBatch { part, windows, x, y } = pair?;
            added = fit.add((part, windows), &x, &y).await;
            if added.is_err() {
                break;
            }
        }
        let fitted = match added {
            Ok(()) => fit.score().await,
            Err(error) => Err(error),
        };
        self.put(FIRST_POSITION, fitted, solved).await.map(drop)
    }

    /// The trained model's inputs through its own network with the values of every tensor in random order.
    async fn shuffled(&self, visit: &Visit<'_, B>, network: &Ffn<B::Tensor>, seed: u64) -> Result<ControlScore> {
        let network = network.shuffled(self.pass.backend, visit.index, seed).await?;
        self.score_network(visit, &network).await
    }

    /// The trained model's inputs through a re-initialised network.
    async fn reinit_block(&self, visit: &Visit<'_, B>, seed: u64) -> Result<ControlScore> {
        let checkpoint = self.source.checkpoint;
        let shapes = checkpoint.block_shapes(visit.index).ffn;
        let network = Draw::network(self.pass.backend, checkpoint.config(), (visit.index, &shapes), seed).await?;
        self.score_network(visit, &network).await
    }

    /// The trained model's inputs through another network.
    async fn score_network(&self, visit: &Visit<'_, B>, network: &Ffn<B::Tensor>) -> Result<ControlScore> {
        let mut fit = self.fit(visit.index, self.pass.folds, &self.pass.job.protocol);
        for pair in visit.pairs() {
            let XyBatch { part, windows, x, .. } = pair?;
            fit.add((part, windows), &x, &self.source.layers.network(network, &x)?).await?;
        }
        fit.score().await
    }

    /// The own inputs and network of the re-initialised model of the seed at `at`.
    async fn reinit_model(&mut self, index: usize, at: usize) -> Result<ControlScore> {
        let seen = self.drawn[at].model.visit(index).await?;
        let mut fit = self.fit(index, self.pass.folds, &self.pass.job.protocol);
        for ControlRows { batch, part, x, y } in seen {
            let (x, y) = (self.source.store.tensor(&x)?, self.source.store.tensor(&y)?);
            fit.add((part, &batch.windows), &x, &y).await?;
        }
        fit.score().await
    }

    /// The trained network on Gaussian inputs with the mean and covariance of the captured ones, drawn from the seed at
    /// `at`.
    async fn gaussian(
        &mut self,
        index: usize,
        (network, at): (&Ffn<B::Tensor>, usize),
        solved: &SolvedBlock<B::Tensor>,
    ) -> Result<ControlScore> {
        let Pass { backend, job, folds, .. } = *self.pass;
        let Source { store, layers, reading, .. } = self.source;
        let Some(inputs) = &solved.inputs else { return Ok(ControlScore::default()) };
        let batches: Vec<_> = reading.batches.iter().filter(|batch| batch.part.is_some()).cloned().collect();
        let Drawn { seed, normals, .. } = &mut self.drawn[at];
        let drawn = match normals.take() {
            Some(drawn) => drawn,
            None => {
                let sizes = (inputs.columns.mean.len(), job.protocol.seq_len, *seed);
                NormalRows::draw(backend, store, &batches, sizes).await?
            }
        };
        let normals = normals.insert(drawn);
        let law = GaussianInputs::upload(backend, inputs)?;
        let mut fit = ControlFit::new(self.pass, &self.meter, index, folds, &job.protocol);
        for (batch, z) in batches.iter().zip(normals.batches()) {
            let Some(part) = batch.part else { continue };
            let x = law.rows(backend, &store.tensor(z)?)?;
            let y = layers.network(network, &x)?;
            fit.add((part, &batch.windows), &x, &y).await?;
        }
        fit.score().await
    }

    /// The trained network on the inputs of another model at the same depth, as they are and matched to the means and
    /// variances of its own inputs.
    async fn cross_feed(
        &mut self,
        index: usize,
        network: &Ffn<B::Tensor>,
        solved: &mut SolvedBlock<B::Tensor>,
    ) -> Result<()> {
        let Some(feed) = &mut self.feed else { return Ok(()) };
        let (seen, folds) = (feed.companion.visit(index).await?, feed.folds);
        let fitted = self.fed(index, network, (&seen, folds), None).await;
        let from = self.put(CROSS_FEED, fitted, solved).await?;
        let Some((from, to)) = from.zip(solved.inputs.as_ref()) else { return Ok(()) };
        let matched = MomentMatch::upload(self.pass.backend, &from, &to.columns)?;
        let fitted = self.fed(index, network, (&seen, folds), Some(&matched)).await;
        self.put(CROSS_FEED_MATCHED, fitted, solved).await.map(drop)
    }

    async fn fed(
        &self,
        index: usize,
        network: &Ffn<B::Tensor>,
        (seen, folds): (&[ControlRows<B::Tensor>], &Folds),
        matched: Option<&MomentMatch<B::Tensor>>,
    ) -> Result<ControlScore> {
        let mut fit = self.fit(index, folds, &self.pass.job.protocol);
        for ControlRows { batch, part, x, .. } in seen {
            let x = self.source.store.tensor(x)?;
            let x = match matched {
                Some(matched) => matched.apply(self.pass.backend, &x)?,
                None => x,
            };
            let y = self.source.layers.network(network, &x)?;
            fit.add((*part, &batch.windows), &x, &y).await?;
        }
        fit.score().await
    }

    fn fit<'s>(&'s self, index: usize, folds: &'s Folds, protocol: &'s Protocol) -> ControlFit<'s, B> {
        ControlFit::new(self.pass, &self.meter, index, folds, protocol)
    }

    /// Stores the scores of a drawn control, if the seed at `at` is the first, and adds its R² to those of all seeds.
    async fn put_drawn(
        &self,
        control: &str,
        (at, fitted): (usize, Result<ControlScore>),
        solved: &mut SolvedBlock<B::Tensor>,
        seeds: &mut BTreeMap<String, Vec<Option<f64>>>,
    ) -> Result<()> {
        let r2 = match at {
            0 => {
                self.put(control, fitted, solved).await?;
                solved.report.controls.get(control).and_then(|control| control.r2_lin)
            }
            _ => self.finite(control, fitted)?.report.r2_lin,
        };
        seeds.entry(format!("r2_lin_{control}")).or_default().push(r2);
        Ok(())
    }

    /// Stores a control's scores. Returns the columns of its inputs.
    async fn put(
        &self,
        control: &str,
        fitted: Result<ControlScore>,
        solved: &mut SolvedBlock<B::Tensor>,
    ) -> Result<Option<InputColumns>> {
        let block = solved.report.block;
        let ControlScore { report, inputs } = self.finite(control, fitted)?;
        if inputs.is_some() && report.r2_lin.is_none() {
            let kind = WarningKind::NoControlVariance { control: control.into() };
            self.pass.out.warn(Warning::of_block(block, &kind));
        }
        self.send_updated(control, report, solved).await;
        Ok(inputs)
    }

    /// A control's scores, or null with a warning if its rows leave the range of f32: the trained model's own rows were
    /// finite, so the control caused the overflow.
    fn finite(&self, control: &str, fitted: Result<ControlScore>) -> Result<ControlScore> {
        match fitted {
            Err(error @ Error::NonFiniteActivation { .. }) => {
                leave_out(self.pass, control, &error);
                Ok(ControlScore::default())
            }
            fitted => fitted,
        }
    }

    async fn send_updated(&self, control: &str, report: ControlReport, solved: &mut SolvedBlock<B::Tensor>) {
        solved.report.controls.insert(control.into(), report);
        self.pass.out.emit(Event::Block(Box::new(solved.report.clone()))).await;
    }
}

impl<B: Backend> BlockMeasure<B> for Controls<'_, B> {
    fn needs_weights(&self) -> bool {
        true
    }

    fn needs_all_rows(&self) -> bool {
        true
    }

    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.all(visit, solved).boxed_local()
    }
}

/// The protocol of [`FIRST_POSITION`]; warns if there is none.
fn other_positions<B: Backend>(pass: &Pass<'_, B>, hidden_size: usize) -> Option<Protocol> {
    let protocol_of_job = &pass.job.protocol;
    let skip_positions = if protocol_of_job.skip_positions == 0 { 1 } else { 0 };
    let protocol = Protocol { skip_positions, ..protocol_of_job.clone() };
    if skip_positions == 0 {
        let (skipped, control) = (protocol_of_job.skip_positions, FIRST_POSITION.into());
        pass.out.warn(Warning::new(&WarningKind::FirstPositionWith { skipped, control }));
    }
    let enough = |()| pass.folds.check_rows(&pass.job.corpus, &protocol, hidden_size);
    match protocol.check().and_then(enough) {
        Ok(()) => Some(protocol),
        Err(error) => {
            leave_out(pass, FIRST_POSITION, &error);
            None
        }
    }
}

fn leave_out<B: Backend>(pass: &Pass<'_, B>, control: &str, why: &Error) {
    let kind = WarningKind::NoControl { control: control.into(), why: why.to_string() };
    pass.out.warn(Warning::new(&kind));
}

/// The running fit of one block under one control.
struct ControlFit<'a, B: Backend> {
    sums: BlockSums<'a, B>,
    index: usize,
    seq_len: usize,
    meter: &'a StageMeter,
}

/// The result of a control; without columns if it was left out.
#[derive(Default)]
struct ControlScore {
    report: ControlReport,
    inputs: Option<InputColumns>,
}

impl<'a, B: Backend> ControlFit<'a, B> {
    fn new(
        pass: &'a Pass<'_, B>,
        meter: &'a StageMeter,
        index: usize,
        folds: &'a Folds,
        protocol: &'a Protocol,
    ) -> Self {
        Self {
            sums: BlockSums::new(pass.backend, index, folds.len(), protocol, None),
            index,
            seq_len: protocol.seq_len,
            meter,
        }
    }

    async fn add(
        &mut self,
        (part, windows): (HalfFold, &std::ops::Range<usize>),
        x: &B::Tensor,
        y: &B::Tensor,
    ) -> Result<()> {
        self.sums.add((part, windows), x, y).await?;
        self.meter.advance((windows.len() * self.seq_len) as u64).await;
        Ok(())
    }

    async fn score(self) -> Result<ControlScore> {
        let folds = self.sums.moments().await?;
        let report = solve::score_control(self.index, &folds)?;
        Ok(ControlScore { report, inputs: Some(InputColumns::new(&folds)) })
    }
}
