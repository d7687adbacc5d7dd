//! The sweep: all rows go through block 0, then all rows through block 1, and so on.
//!
//! The residual stream of all rows is kept between two blocks, and only one block's weights and sums exist at a time. A
//! block's second moments are final once its rows are through. It is solved and measured while the rows of the next
//! block run, and while the weights of the one after that arrive. What stands in for its network then goes on beside the
//! untouched stream, as rows of its own ([`forks`]).

mod captured_rows;
mod finish;
mod forks;
mod greedy;
mod resume;
mod rows;
mod spill;
mod store;
mod visit;

use std::rc::Rc;

use futures::try_join;

use super::Pass;
use super::events::Meter;
use super::measures::{LayerMeasure, MeasuredLayer, Source};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::forward::{Entered, Rest};
use crate::model::{Block, TokenRows};
use crate::report::BlockReport;
use crate::solve::AffineMap;
use crate::trace::Lane;

pub(super) use captured_rows::of_rows;
use forks::Forks;
pub use resume::Resume;
#[cfg(not(target_arch = "wasm32"))]
pub use resume::ResumeFile;
use resume::Resumed;
pub(super) use rows::{Batch, Reading, Sums, fold_batches};
pub(super) use store::{Kept, RowStore};
pub(super) use visit::{BlockMeasure, Pair, Rows, Solved, Visit};

/// A model, what it reads, and who measures it.
pub(super) struct Sweep<'a, B: Backend> {
    pub(super) pass: &'a Pass<'a, B>,
    pub(super) source: Source<'a, B>,
    /// Blocks that are measured, ascending.
    pub(super) blocks: &'a [usize],
    /// Bytes of weights that have been loaded.
    pub(super) load: &'a Meter,
}

/// What measures every block, in this order.
pub(super) type BlockMeasures<'a, B> = Vec<Box<dyn BlockMeasure<B> + 'a>>;

/// A block that is measured, as far as anything asks for it afterwards.
pub(super) struct Swept {
    pub(super) report: BlockReport,
    pub(super) map: Option<AffineMap>,
}

/// A visit, with what was measured of it.
struct Finished<'a, B: Backend> {
    visit: Visit<'a, B>,
    solved: Option<Solved<B::Tensor>>,
    layer: Option<MeasuredLayer<B::Tensor>>,
}

/// The residual stream of all batches between two blocks.
pub(super) type Stream<T> = Vec<Rc<Kept<T>>>;

impl<'a, B: Backend> Sweep<'a, B> {
    /// Measures every block, and then perplexity where it is asked for. Returns the blocks, and the perplexity of the
    /// untouched model.
    pub(super) async fn run(
        &self,
        mut measures: BlockMeasures<'a, B>,
        mut layers: Option<LayerMeasure<'a, B>>,
    ) -> Result<(Vec<Swept>, Option<f64>)> {
        let mut forks = Forks::new(self);
        let keeps = Keeps {
            all_rows: measures.iter().any(|measure| measure.needs_all_rows()),
            weights: forks.are_wanted() || measures.iter().any(|measure| measure.needs_weights()),
            layers: layers.is_some(),
            forks: forks.are_wanted(),
        };
        self.source.checkpoint.announce().await?;
        let resumed = self.resume(&mut forks, &mut layers).await?;
        let Resumed { next: first, mut stream, mut swept } = match resumed {
            Some(resumed) => resumed,
            None => Resumed { next: 0, stream: self.embed().await?, swept: Vec::new() },
        };
        let last = self.last_block(&keeps);
        let meter = self.pass.out.stage(Stage::Measure, self.source.reading.rows() * (last as u64 + 1));
        let mut before = None;
        let mut block = Rc::new(self.load(first).await?);
        for index in first..=last {
            let entering = self.pass.resume.map(|_| stream.clone());
            let (visit, finished, next) = try_join!(
                self.pass.span(Lane::Rows, Some(index), self.visit(index, &block, &mut stream, &keeps, &meter)),
                self.finish(before.take(), &mut measures, &mut layers),
                self.load_next(index, last),
            )?;
            let forked = async {
                self.close(finished, &mut measures, &mut forks, &mut swept).await?;
                if let Some(entering) = entering {
                    self.save(index, &entering, &forks, &swept, layers.as_ref()).await?;
                }
                forks.carry(&block, index).await
            };
            self.pass.span(Lane::Forks, Some(index), forked).await?;
            before = Some(visit);
            if let Some(next) = next {
                block = Rc::new(next);
            }
        }
        let finished = self.finish(before, &mut measures, &mut layers).await?;
        self.close(finished, &mut measures, &mut forks, &mut swept).await?;
        self.pass.spend(|seconds| &mut seconds.forward, meter.seconds());
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

    /// The residual stream that enters the first block.
    async fn embed(&self) -> Result<Stream<B::Tensor>> {
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

    /// The last block that anything needs.
    fn last_block(&self, keeps: &Keeps) -> usize {
        let all = self.source.checkpoint.config().num_hidden_layers;
        let needs_all = keeps.layers || keeps.forks;
        self.blocks.last().copied().filter(|_| !needs_all).unwrap_or(all - 1)
    }

    async fn load(&self, index: usize) -> Result<Block<B::Tensor>> {
        let heard = |bytes| self.load.add(bytes);
        let block = self.source.checkpoint.block(self.pass.backend, index, &heard);
        self.pass.span(Lane::Weights, Some(index), self.load.during(block)).await
    }

    async fn load_next(&self, index: usize, last: usize) -> Result<Option<Block<B::Tensor>>> {
        if index < last { self.load(index + 1).await.map(Some) } else { Ok(None) }
    }

    /// Takes all rows through a block.
    async fn visit(
        &self,
        index: usize,
        block: &Rc<Block<B::Tensor>>,
        stream: &mut Stream<B::Tensor>,
        keeps: &Keeps,
        meter: &Meter,
    ) -> Result<Visit<'a, B>> {
        let (pass, Source { store, .. }) = (self.pass, self.source);
        let is_measured = self.blocks.binary_search(&index).is_ok();
        let mut sums = is_measured.then(|| Sums::new(pass.backend, index, pass.folds, &pass.job.protocol));
        let mut rows = Vec::with_capacity(stream.len());
        let mut done = self.source.reading.rows() * index as u64;
        for (batch, place) in self.source.reading.batches.iter().zip(stream) {
            let hidden = store.tensor(place)?;
            let Entered { ffn_in: x, rest } = self.source.layers.enter(block, &hidden)?;
            let y = self.source.layers.network(&block.ffn, &x)?;
            let next = Rc::new(store.keep(self.source.layers.leave(block, &rest, &y)?).await?);
            match (&mut sums, batch.fold) {
                (Some(sums), Some(fold)) => sums.add((fold, &batch.windows), &x, &y).await?,
                _ => pass.backend.settle(&mut []).await?,
            }
            let keep = keeps.of(batch, is_measured, pass.folds.len());
            rows.push(Rows {
                batch: batch.clone(),
                hidden: keep.hidden.then(|| place.clone()),
                x: if keep.x { Some(store.keep(x).await?) } else { None },
                y: if keep.y { Some(store.keep(y).await?) } else { None },
                rest: if keep.rest { Some(self.keep_rest(rest).await?) } else { None },
                next: keep.next.then(|| next.clone()),
            });
            *place = next;
            done += self.source.reading.ids(batch).len() as u64;
            meter.reach(done).await;
        }
        let block = (is_measured && keeps.weights).then(|| block.clone());
        Ok(Visit { store, index, block, rows, folds: pass.folds.len(), sums })
    }

    async fn keep_rest(&self, rest: Rest<B::Tensor>) -> Result<Rest<Kept<B::Tensor>>> {
        Ok(match rest {
            Rest::Sequential(middle) => Rest::Sequential(self.source.store.keep(middle).await?),
            Rest::Parallel(attended, hidden) => {
                Rest::Parallel(self.source.store.keep(attended).await?, self.source.store.keep(hidden).await?)
            }
        })
    }

    /// Solves and measures a block that all rows have gone through.
    async fn finish(
        &self,
        visit: Option<Visit<'a, B>>,
        measures: &mut BlockMeasures<'a, B>,
        layers: &mut Option<LayerMeasure<'a, B>>,
    ) -> Result<Option<Finished<'a, B>>> {
        let Some(visit) = visit else { return Ok(None) };
        let measured = async {
            let solved = self.pass.measure_block(&visit, measures).await?;
            let layer = match layers {
                Some(layers) => Some(layers.measure(&visit).await?),
                None => None,
            };
            Ok((solved, layer))
        };
        let (solved, layer) = self.pass.span(Lane::Measures, Some(visit.index), measured).await?;
        Ok(Some(Finished { visit, solved, layer }))
    }

    /// What is left of a visit: times on a device that does nothing else, and the forks that start here.
    async fn close(
        &self,
        finished: Option<Finished<'a, B>>,
        measures: &mut BlockMeasures<'a, B>,
        forks: &mut Forks<'_, 'a, B>,
        swept: &mut Vec<Swept>,
    ) -> Result<()> {
        let Some(Finished { visit, solved, layer }) = finished else { return Ok(()) };
        if let Some(layer) = layer {
            forks.of_layer(&visit, layer).await?;
        }
        let Some(mut solved) = solved else { return Ok(()) };
        for measure in measures.iter_mut() {
            measure.time(&visit, &mut solved).await?;
        }
        for (name, replacement) in &solved.replacements {
            forks.of_block(&visit, name, replacement).await?;
        }
        if !solved.replacements.is_empty() {
            self.pass.out.emit(Event::Block(Box::new(solved.report.clone()))).await;
        }
        let keeps_map = self.pass.keeps_maps || self.swaps_greedily();
        swept.push(Swept { report: solved.report, map: keeps_map.then_some(solved.map) });
        Ok(())
    }
}

/// What visits keep of their rows.
struct Keeps {
    all_rows: bool,
    weights: bool,
    layers: bool,
    forks: bool,
}

/// What is kept of one batch.
struct Keep {
    hidden: bool,
    x: bool,
    y: bool,
    rest: bool,
    next: bool,
}

impl Keeps {
    fn of(&self, batch: &Batch, is_measured: bool, folds: usize) -> Keep {
        let (forks, layers) = (self.forks && batch.evaluated, self.layers && batch.fold.is_some());
        let y = is_measured && batch.fold.is_some_and(|fold| self.all_rows || fold + 1 == folds);
        let at_fork = is_measured && forks;
        Keep { hidden: forks && self.layers || layers, x: y || at_fork, y, rest: at_fork, next: layers }
    }
}
