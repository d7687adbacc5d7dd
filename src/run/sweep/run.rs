//! The sweep itself: block after block, each measured while the next one runs.

use std::rc::Rc;

use futures::try_join;

use super::block_pass::{BlockPass, VisitedBlock};
use super::forks::Forks;
use super::measuring::Measuring;
use super::state::{BlockMeasures, KeepPolicy, MeasuredBlock, Stream, Sweep};
use super::visit::{SolvedBlock, Visit};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::model::{Block, TokenRows};
use crate::platform::parallel;
use crate::run::measures::{LayerMeasure, MeasuredLayer};
use crate::trace::Lane;

/// A visit and its results.
struct Finished<'a, B: Backend> {
    visit: Visit<'a, B>,
    solved: Option<SolvedBlock<B::Tensor>>,
    layer: Option<MeasuredLayer<B::Tensor>>,
}

impl<'a, B: Backend> Sweep<'a, B> {
    /// Measures every block, then perplexity if requested. Returns the blocks, and the perplexity of the original
    /// model.
    pub(in crate::run) async fn run(
        &self,
        measures: BlockMeasures<'a, B>,
        layers: Option<LayerMeasure<'a, B>>,
    ) -> Result<(Vec<MeasuredBlock>, Option<f64>)> {
        let mut measuring = Measuring { measures, layers, forks: Forks::new(self), swept: Vec::new() };
        let keeps = measuring.keeps();
        self.source.checkpoint.announce().await?;
        let (first, mut stream) = match self.resume(&mut measuring).await? {
            Some(resumed) => resumed,
            None => (0, self.embed().await?),
        };
        let last = self.last_block(&keeps);
        let meter = self.pass.out.stage(Stage::Measure, self.source.reading.rows() * (last as u64 + 1));
        let mut before = None;
        let mut block = Rc::new(self.load(first).await?);
        for index in first..=last {
            let block_pass = BlockPass::new(self, (index, &block), &keeps, &meter);
            let work = async {
                let visited = self.visit(block_pass, before.take(), &mut stream, &mut measuring).await?;
                self.pass.span(Lane::Forks, Some(index), measuring.forks.carry(&block, index)).await?;
                Ok(visited)
            };
            let (visited, next) = try_join!(work, self.load_next(index, last))?;
            before = Some(visited);
            if let Some(next) = next {
                block = Rc::new(next);
            }
        }
        let finished = self.finish(before, &mut measuring).await?;
        self.close(finished, &mut measuring).await?;
        self.pass.spend(|seconds| &mut seconds.forward, meter.seconds());
        let Measuring { measures, layers, forks, mut swept } = measuring;
        drop((measures, block));
        let perplexities = async {
            let ppl = forks.finish(&stream, &mut swept, layers).await?;
            drop(stream);
            if let Some(ppl) = ppl {
                self.swap_greedily(&swept, ppl).await?;
            }
            Ok((swept, ppl))
        };
        self.pass.span(Lane::Perplexity, None, perplexities).await
    }

    /// Takes all rows through a block, measures the previous one, and saves the state between them.
    async fn visit(
        &self,
        block_pass: BlockPass<'_, 'a, B>,
        before: Option<VisitedBlock<'a, B>>,
        stream: &mut Stream<B::Tensor>,
        measuring: &mut Measuring<'_, 'a, B>,
    ) -> Result<VisitedBlock<'a, B>> {
        let index = block_pass.index();
        // A single thread gains nothing from overlapping them, and has no memory for two blocks' sums.
        if B::IN_MEMORY && !parallel::HAS_THREADS {
            let finished = self.finish(before, measuring).await?;
            self.close(finished, measuring).await?;
            self.save(index, stream, measuring).await?;
            return block_pass.run(stream).await;
        }
        let entering = self.pass.resume.map(|_| stream.clone());
        let (finished, visited) = try_join!(self.finish(before, measuring), block_pass.run(stream))?;
        self.close(finished, measuring).await?;
        if let Some(entering) = entering {
            self.save(index, &entering, measuring).await?;
        }
        Ok(visited)
    }

    /// The residual stream that enters the first block.
    pub(super) async fn embed(&self) -> Result<Stream<B::Tensor>> {
        let wanted = Rc::new(TokenRows::of(self.source.reading.all_ids()));
        let heard = |bytes| self.load.add(bytes);
        let embedding = self.source.checkpoint.embedding(self.pass.backend, &wanted, &heard);
        let embedding = self.pass.span(Lane::Weights, None, self.load.during(embedding)).await?;
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
        self.pass.span(Lane::Weights, Some(index), self.load.during(block)).await
    }

    async fn load_next(&self, index: usize, last: usize) -> Result<Option<Block<B::Tensor>>> {
        if index < last { self.load(index + 1).await.map(Some) } else { Ok(None) }
    }

    /// Solves and measures a block after all rows have passed it.
    async fn finish(
        &self,
        visited: Option<VisitedBlock<'a, B>>,
        measuring: &mut Measuring<'_, 'a, B>,
    ) -> Result<Option<Finished<'a, B>>> {
        let Some(VisitedBlock { visit, sums }) = visited else { return Ok(None) };
        let measured = async {
            let solved = match sums {
                Some(sums) => Some(self.pass.measure_block(&visit, sums, &mut measuring.measures).await?),
                None => None,
            };
            let layer = match &mut measuring.layers {
                Some(layers) => Some(layers.measure(&visit).await?),
                None => None,
            };
            Ok((solved, layer))
        };
        let (solved, layer) = self.pass.span(Lane::Measures, Some(visit.index), measured).await?;
        Ok(Some(Finished { visit, solved, layer }))
    }

    /// Completes a visit: timings on an otherwise idle device, and the forks that start here.
    async fn close(&self, finished: Option<Finished<'a, B>>, measuring: &mut Measuring<'_, 'a, B>) -> Result<()> {
        let Some(Finished { visit, solved, layer }) = finished else { return Ok(()) };
        let Measuring { measures, forks, swept, .. } = measuring;
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
        let keeps_map = self.pass.keeps_maps || self.swaps_greedily();
        swept.push(MeasuredBlock { report: solved.report, map: keeps_map.then_some(solved.map) });
        Ok(())
    }
}
