//! `controls`: every block's fit again under other conditions, to tell what is learned, and whether the weights or the
//! inputs make a block linear (docs/measures.md, section 6).

mod sources;

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::{Error, Result};
use crate::event::{Event, Stage};
use crate::forward::Forward;
use crate::job::Protocol;
use crate::model::{self, Model};
use crate::report::{ControlReport, Seconds};
use crate::solve::{self, InputColumns};
use crate::weights::Weights;

use super::events::Meter;
use super::feed::Feed;
use super::rows::{self, ModelRows, RowSource};
use super::{Pass, Solved};
use sources::{GaussianInputs, Match, Through};

/// The names in [`crate::report::BlockReport::controls`].
const FIRST_POSITION: &str = "first_position";
const REINIT_BLOCK: &str = "reinit_block";
const REINIT_MODEL: &str = "reinit_model";
const GAUSSIAN: &str = "gaussian";
const CROSS_FEED: &str = "cross_feed";
const CROSS_FEED_MATCHED: &str = "cross_feed_matched";

/// Controls that need no second model.
const OWN: u64 = 4;
/// Controls that need one.
const FED: u64 = 2;

impl<B: Backend> Pass<'_, B> {
    /// Fills in `controls` of every block, one control after the other.
    pub(super) async fn controls(
        &self,
        model: &Model<B::Tensor>,
        source: &ModelRows<'_, B>,
        feed: Option<&Feed>,
        solved: &mut [Solved],
        seconds: &mut Seconds,
    ) -> Result<()> {
        let seq_len = self.job.protocol.seq_len;
        let rows = |folds: &Folds| (folds.all().len() * seq_len) as u64;
        let total = OWN * rows(self.folds) + feed.map_or(0, |feed| FED * rows(&feed.folds));
        let meter = self.out.stage(Stage::Controls, total);
        let mut controls = Controls { pass: self, solved, meter: &meter, done: 0 };
        controls.first_position(model, source).await?;
        controls.reinit_block(model, source).await?;
        controls.reinit_model(model, source).await?;
        controls.gaussian(source).await?;
        if let Some(feed) = feed {
            controls.cross_feed(source.forward, feed).await?;
        }
        seconds.controls = meter.seconds();
        Ok(())
    }
}

/// The controls of one measurement, as they are finished.
struct Controls<'a, B> {
    pass: &'a Pass<'a, B>,
    solved: &'a mut [Solved],
    meter: &'a Meter,
    /// Rows of all controls so far.
    done: u64,
}

impl<B: Backend> Controls<'_, B> {
    /// Without position 0 of each window; with it where the protocol leaves it out already.
    async fn first_position(&mut self, model: &Model<B::Tensor>, source: &ModelRows<'_, B>) -> Result<()> {
        let pass = self.pass;
        let asked = &pass.job.protocol;
        let skip_positions = if asked.skip_positions == 0 { 1 } else { 0 };
        let protocol = Protocol { skip_positions, ..asked.clone() };
        if skip_positions == 0 {
            let text = format!(
                "the first {} positions are left out already, so that the control {FIRST_POSITION} is with them",
                asked.skip_positions
            );
            pass.out.warn("first_position_with", None, text);
        }
        let enough = |()| pass.folds.check_rows(&pass.job.corpus, &protocol, model.config.hidden_size);
        match protocol.check().and_then(enough) {
            Ok(()) => self.fit(FIRST_POSITION, source, pass.folds, &protocol).await.map(drop),
            Err(error) => {
                self.done += self.rows(pass.folds);
                self.leave_out(FIRST_POSITION, &source.blocks, &error).await;
                Ok(())
            }
        }
    }

    /// The inputs of the trained model through networks that have learned nothing.
    async fn reinit_block(&mut self, model: &Model<B::Tensor>, source: &ModelRows<'_, B>) -> Result<()> {
        let (pass, protocol) = (self.pass, &self.pass.job.protocol);
        let redrawn = model.with_redrawn_ffns(pass.backend, &source.blocks, protocol.seed).await?;
        let forward = Forward::new(pass.backend, &redrawn, protocol.seq_len)?;
        let source = Through { backend: pass.backend, source, forward: &forward, matches: Vec::new() };
        self.fit(REINIT_BLOCK, &source, pass.folds, protocol).await.map(drop)
    }

    /// A model that has learned nothing.
    async fn reinit_model(&mut self, model: &Model<B::Tensor>, source: &ModelRows<'_, B>) -> Result<()> {
        let (pass, protocol) = (self.pass, &self.pass.job.protocol);
        let redrawn = model.redrawn(pass.backend, protocol.seed).await?;
        let forward = Forward::new(pass.backend, &redrawn, protocol.seq_len)?;
        let source = ModelRows { forward: &forward, windows: source.windows, blocks: source.blocks.clone() };
        self.fit(REINIT_MODEL, &source, pass.folds, protocol).await.map(drop)
    }

    /// The trained networks on inputs that have only the mean and covariance of the captured ones.
    async fn gaussian(&mut self, source: &ModelRows<'_, B>) -> Result<()> {
        let (pass, protocol) = (self.pass, &self.pass.job.protocol);
        let laws = self.solved.iter().filter_map(|block| Some((block.report.block, block.inputs.as_ref()?)));
        let inputs = GaussianInputs::new(pass.backend, laws, (protocol.seq_len, protocol.seed))?;
        let (backend, forward) = (pass.backend, source.forward);
        let source = Through { backend, source: &inputs, forward, matches: Vec::new() };
        self.fit(GAUSSIAN, &source, pass.folds, protocol).await.map(drop)
    }

    /// The trained networks on the inputs that another model's networks get at the same depth.
    async fn cross_feed(&mut self, forward: &Forward<'_, B>, feed: &Feed) -> Result<()> {
        let (pass, protocol) = (self.pass, &self.pass.job.protocol);
        let blocks = self.common_blocks(feed);
        if blocks.is_empty() {
            return Ok(());
        }
        let weights = Weights::open(feed.files.clone()).await?;
        model::fetch(&feed.config, &weights, false).await?;
        let load = pass.out.stage(Stage::Load, weights.total_bytes());
        let on_bytes = |done, total| load.tell(done, total);
        let model = model::load(pass.backend, &feed.config, &weights, false, &on_bytes).await?;
        let feeding = Forward::new(pass.backend, &model, protocol.seq_len)?;
        let rows = ModelRows { forward: &feeding, windows: &feed.windows, blocks };
        let mut source = Through { backend: pass.backend, source: &rows, forward, matches: Vec::new() };
        let fed = self.fit(CROSS_FEED, &source, &feed.folds, protocol).await?;
        if fed.is_empty() {
            return Ok(());
        }
        let own = self.solved.iter().filter_map(|block| block.inputs.as_ref());
        let pairs = fed.iter().zip(own);
        source.matches =
            pairs.map(|(from, to)| Match::upload(pass.backend, from, &to.columns)).collect::<Result<_>>()?;
        self.fit(CROSS_FEED_MATCHED, &source, &feed.folds, protocol).await.map(drop)
    }

    /// The measured blocks that the feeding model has too: the first ones, since both count from 0.
    fn common_blocks(&self, feed: &Feed) -> Vec<usize> {
        let there = feed.config.num_hidden_layers;
        let (common, absent): (Vec<usize>, Vec<usize>) =
            self.solved.iter().map(|block| block.report.block).partition(|block| *block < there);
        if let Some(first) = absent.first() {
            let text =
                format!("{} has {there} blocks, so that block {first} and later ones are not fed by it", feed.name);
            self.pass.out.warn("feed_blocks", None, text);
        }
        common
    }

    /// One control: fits every block of `source` and sends it. Returns the inputs' columns per block, nothing where
    /// the rows leave the range of f32.
    async fn fit(
        &mut self,
        control: &str,
        source: &impl RowSource<B>,
        folds: &Folds,
        protocol: &Protocol,
    ) -> Result<Vec<InputColumns>> {
        let backend = self.pass.backend;
        let meter = self.meter.after(self.done);
        let grams = rows::accumulate(backend, source, folds, 0..folds.len(), protocol, &meter).await;
        self.done += self.rows(folds);
        let grams = match grams {
            // The trained model's own rows were finite: it is the control that goes too far.
            Err(error @ Error::NonFiniteActivation { .. }) => {
                self.leave_out(control, source.blocks(), &error).await;
                return Ok(Vec::new());
            }
            grams => grams?,
        };
        let mut inputs = Vec::with_capacity(grams.len());
        for (&block, gram) in source.blocks().iter().zip(grams) {
            let folds = backend.moments(&gram).await?;
            drop(gram);
            let report = solve::score_control(block, &folds)?;
            if report.r2_lin.is_none() {
                let text = format!("block {block}, control {control}: the output does not vary; R² is undefined");
                self.pass.out.warn("no_variance", Some(block), text);
            }
            inputs.push(InputColumns::new(&folds));
            self.put(block, control, report).await;
        }
        Ok(inputs)
    }

    /// Null for every block, with the reason.
    async fn leave_out(&mut self, control: &str, blocks: &[usize], why: &Error) {
        self.pass.out.warn("no_control", None, format!("the control {control} is undefined here: {why}"));
        for &block in blocks {
            self.put(block, control, ControlReport::default()).await;
        }
    }

    async fn put(&mut self, block: usize, control: &str, report: ControlReport) {
        if let Some(found) = self.solved.iter_mut().find(|found| found.report.block == block) {
            found.report.controls.insert(control.into(), report);
            self.pass.out.emit(Event::Block(Box::new(found.report.clone()))).await;
        }
    }

    fn rows(&self, folds: &Folds) -> u64 {
        (folds.all().len() * self.pass.job.protocol.seq_len) as u64
    }
}
