//! The sweep itself: block after block, each measured while the next one runs.

use std::ops::RangeInclusive;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::{FutureExt, try_join};

use super::block_pass::BlockPass;
use super::forks::Forks;
use super::layers::LayerMeasure;
use super::measuring::Measuring;
use super::state::{BlockMeasures, HalfOrders, KeepPolicy, MeasuredBlock, Stream, Sweep, Swept};
use super::unfinished::{MeasuredVisit, UnfinishedBlocks, unless_cancelled};
use super::visit::{SolvedBlock, Visit};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::job::Measure;
use crate::model::{Block, TokenRows};
use crate::replacement::replaced::Replaced;
use crate::replacement::swap::Replacement;
use crate::run::events::StageMeter;
use crate::trace::Lane;

impl<'a, B: Backend> Sweep<'a, B> {
    /// Measures every block, then perplexity if requested.
    pub(in crate::run) async fn run(
        &self,
        measures: BlockMeasures<'a, B>,
        layers: Option<LayerMeasure<'a, B>>,
    ) -> Result<Swept> {
        let mut measuring = Measuring { measures, layers, forks: Forks::new(self), swept: Vec::new() };
        let keeps = measuring.keeps();
        self.source.checkpoint.announce().await?;
        let (first, mut stream) = match self.resume(&mut measuring).await? {
            Some(resumed) => resumed,
            None => (0, self.embed().await?),
        };
        let last = self.last_block(&keeps);
        let meter = self.pass.out.stage(Stage::Measure, self.source.reading.rows() * (last as u64 + 1));
        let mut unfinished = UnfinishedBlocks::new(self, &keeps, first);
        let blocks = (first..=last, &mut stream);
        let passed = self.pass_blocks(blocks, (&keeps, &meter), &mut unfinished, &mut measuring).await;
        // After an error too, finish blocks whose rows are through, then return it.
        unless_cancelled(passed)?.and(unfinished.finish(self, &mut measuring).await)?;
        self.pass.add_seconds(|seconds| &mut seconds.forward, meter.seconds());
        let Measuring { measures, layers, forks, mut swept } = measuring;
        drop(measures);
        let perplexities = async {
            let base = forks.finish(&stream, &mut swept, layers).await?;
            drop(stream);
            let halves = match &base {
                Some(base) => self.replace_in_order(&swept, base).await?,
                None => HalfOrders::new(),
            };
            Ok(Swept { blocks: swept, ppl: base.map(|base| base.ppl), halves })
        };
        self.pass.out.span(Lane::Perplexity, None, perplexities).await
    }

    /// Takes the rows of `stream` through `blocks`; each is solved and measured while the rows of later ones run.
    async fn pass_blocks<'s>(
        &'s self,
        (blocks, stream): (RangeInclusive<usize>, &mut Stream<B::Tensor>),
        (keeps, meter): (&KeepPolicy, &StageMeter),
        unfinished: &mut UnfinishedBlocks<'s, 'a, B>,
        measuring: &mut Measuring<'_, 'a, B>,
    ) -> Result<()> {
        let last = *blocks.end();
        let mut loaded_block = Some(self.load(*blocks.start()).await?);
        for index in blocks {
            let Some(block) = loaded_block.take().map(Rc::new) else { break };
            let block_pass = BlockPass::new(self, (index, block.clone()), keeps, meter);
            let (loading, loaded) = oneshot::channel::<()>();
            let work = async {
                let entering = unfinished.saves().then(|| stream.clone());
                let rows = block_pass.run(stream);
                let visited = unfinished.measure_during_rows(self, measuring, (index, entering), rows).await?;
                unfinished.add(self, visited);
                self.pass.out.span(Lane::Forks, Some(index), measuring.forks.carry(&block, index)).await?;
                drop(block);
                // While the next weights are still on their way, results need not wait for them.
                unfinished.measure_during(self, measuring, usize::MAX, loaded.map(|_| Ok(()))).await
            };
            let load = async {
                let next = self.load_next(index, last).await;
                drop(loading);
                unless_cancelled(next)
            };
            let ((), next) = try_join!(work, load)?;
            loaded_block = next?;
        }
        Ok(())
    }

    /// The residual stream that enters the first block.
    pub(super) async fn embed(&self) -> Result<Stream<B::Tensor>> {
        let wanted = Rc::new(TokenRows::of(self.source.reading.all_ids()));
        let heard = |bytes| self.load.add(bytes);
        let embedding = self.source.checkpoint.embedding(self.pass.backend, &wanted, &heard);
        let embedding = self.pass.out.span(Lane::Weights, None, self.load.during(embedding)).await?;
        let mut stream = Vec::with_capacity(self.source.reading.batches.len());
        for batch in &self.source.reading.batches {
            let hidden = self.source.layers.embed(&embedding, &wanted.rows(self.source.reading.ids(batch)))?;
            stream.push(Rc::new(self.source.store.keep(hidden).await?));
        }
        Ok(stream)
    }

    /// The last block needed by any measure.
    fn last_block(&self, keeps: &KeepPolicy) -> usize {
        let all = self.source.checkpoint.config().num_hidden_layers;
        let needs_all = keeps.layers || keeps.forks;
        self.blocks.last().copied().filter(|_| !needs_all).unwrap_or(all - 1)
    }

    pub(super) async fn load(&self, index: usize) -> Result<Block<B::Tensor>> {
        let heard = |bytes| self.load.add(bytes);
        let block = self.source.checkpoint.block(self.pass.backend, index, &heard);
        self.pass.out.span(Lane::Weights, Some(index), self.load.during(block)).await
    }

    async fn load_next(&self, index: usize, last: usize) -> Result<Option<Block<B::Tensor>>> {
        if index < last { self.load(index + 1).await.map(Some) } else { Ok(None) }
    }

    /// Measures a solved block.
    pub(super) async fn measure(
        &self,
        visit: Visit<'a, B>,
        mut solved: Option<SolvedBlock<B::Tensor>>,
        Measuring { measures, layers, .. }: &mut Measuring<'_, 'a, B>,
    ) -> Result<MeasuredVisit<'a, B>> {
        let measured = async {
            if let Some(solved) = &mut solved {
                self.pass.measure_solved(&visit, solved, measures).await?;
            }
            match layers {
                Some(layers) => layers.measure(&visit).await.map(Some),
                None => Ok(None),
            }
        };
        let layer = self.pass.out.span(Lane::Measures, Some(visit.index), measured).await?;
        Ok(MeasuredVisit { visit, solved, layer })
    }

    /// Completes a visit: timings on an otherwise idle device, and the forks that start here.
    pub(super) async fn close(
        &self,
        MeasuredVisit { visit, solved, layer }: MeasuredVisit<'a, B>,
        Measuring { measures, forks, swept, .. }: &mut Measuring<'_, 'a, B>,
    ) -> Result<()> {
        if let Some(layer) = layer {
            forks.of_layer(&visit, layer).await?;
        }
        let Some(mut solved) = solved else { return Ok(()) };
        for measure in measures {
            measure.time(&visit, &mut solved).await?;
        }
        for (name, replacement) in &solved.replacements {
            forks.of_block(&visit, name, replacement).await?;
        }
        if !solved.replacements.is_empty() {
            self.pass.out.emit(Event::Block(Box::new(solved.report.clone()))).await;
        }
        let keeps_map = self.pass.keeps_maps || self.has_orders();
        let mut probes = Vec::new();
        for (name, replacement) in solved.replacements {
            if self.pass.asks(Measure::Heal) && matches!(replacement, Replacement::Probe(_)) {
                probes.push((name, Replaced::Network(replacement).downloaded(self.pass.backend).await?));
            }
        }
        swept.push(MeasuredBlock { report: solved.report, map: keeps_map.then_some(solved.map), probes });
        Ok(())
    }
}
