//! A block while its rows and weights are available, and the interface of its measures.

use std::ops::Range;
use std::rc::Rc;

use futures::future::{FutureExt, LocalBoxFuture};

use super::rows::Batch;
use super::store::{RowStore, StoredRows};
use crate::backend::Backend;
use crate::error::Result;
use crate::forward::ResidualTerms;
use crate::model::Block;
use crate::replacement::swap::Replacement;
use crate::report::BlockReport;
use crate::run::pass::Pass;
use crate::solve::{AffineMap, Directions, InputDistribution};
use crate::workers::sums::HalfFold;

/// A block after all rows have passed it.
pub(in crate::run) struct Visit<'a, B: Backend> {
    pub(in crate::run) store: &'a RowStore<'a, B>,
    pub(in crate::run) index: usize,
    /// Its weights, if a measure needs them; `None` for captured rows.
    pub(in crate::run) block: Option<Rc<Block<B::Tensor>>>,
    /// The rows kept of every batch.
    pub(in crate::run) rows: Vec<Rows<B::Tensor>>,
    /// Number of folds; the last is held out.
    pub(in crate::run) folds: usize,
}

/// The tensors kept of one batch, as far as measures need them.
pub(in crate::run) struct Rows<T> {
    pub(in crate::run) batch: Batch,
    /// Residual stream before the block.
    pub(in crate::run) hidden: Option<Rc<StoredRows<T>>>,
    /// Input of the feed-forward network.
    pub(in crate::run) x: Option<StoredRows<T>>,
    /// Output of the feed-forward network.
    pub(in crate::run) y: Option<StoredRows<T>>,
    /// The terms y is added to.
    pub(in crate::run) rest: Option<ResidualTerms<StoredRows<T>>>,
    /// Residual stream after the block.
    pub(in crate::run) next: Option<Rc<StoredRows<T>>>,
}

/// x and y of a batch on the device, with its half-fold and windows.
pub(in crate::run) struct XyBatch<'v, T> {
    pub(in crate::run) part: HalfFold,
    pub(in crate::run) windows: &'v Range<usize>,
    pub(in crate::run) x: T,
    pub(in crate::run) y: T,
}

impl<B: Backend> Visit<'_, B> {
    /// x and y of every kept batch of the folds, in corpus order.
    pub(in crate::run) fn pairs(&self) -> impl Iterator<Item = Result<XyBatch<'_, B::Tensor>>> {
        self.batches(|rows| Some((rows.x.as_ref()?, rows.y.as_ref()?)))
    }

    /// Two tensors of every kept batch of the folds, in corpus order, as x and y.
    fn batches<'v>(&'v self, two: TwoKept<B::Tensor>) -> impl Iterator<Item = Result<XyBatch<'v, B::Tensor>>> {
        self.rows.iter().filter_map(move |rows| {
            let (part, (x, y)) = (rows.batch.part?, two(rows)?);
            let pair = || {
                let (x, y) = (self.store.tensor(x)?, self.store.tensor(y)?);
                Ok(XyBatch { part, windows: &rows.batch.windows, x, y })
            };
            Some(pair())
        })
    }

    /// x and y of the held-out batches.
    pub(in crate::run) fn heldout(&self) -> impl Iterator<Item = Result<XyBatch<'_, B::Tensor>>> {
        self.heldout_of(self.pairs())
    }

    /// The residual stream before and after the layer of the held-out batches, as x and y.
    pub(in crate::run) fn heldout_streams(&self) -> impl Iterator<Item = Result<XyBatch<'_, B::Tensor>>> {
        self.heldout_of(self.batches(|rows| Some((rows.hidden.as_deref()?, rows.next.as_deref()?))))
    }

    fn heldout_of<'v>(
        &self,
        pairs: impl Iterator<Item = Result<XyBatch<'v, B::Tensor>>>,
    ) -> impl Iterator<Item = Result<XyBatch<'v, B::Tensor>>> {
        let heldout = self.folds - 1;
        pairs.filter(move |pair| pair.as_ref().map_or(true, |pair| pair.part.fold == heldout))
    }
}

/// Two of the kept tensors of a batch, if both are kept.
type TwoKept<T> = fn(&Rows<T>) -> Option<(&StoredRows<T>, &StoredRows<T>)>;

/// A block's report and the maps behind it.
pub(in crate::run) struct SolvedBlock<T> {
    pub(in crate::run) report: BlockReport,
    /// Held-out Σ‖y − ȳ_h‖².
    pub(in crate::run) heldout_variation: f64,
    /// ȳ_h, one mean per output.
    pub(in crate::run) heldout_mean: Vec<f64>,
    pub(in crate::run) map: AffineMap,
    /// Training standard deviation of every output.
    pub(in crate::run) deviation_y: Vec<f64>,
    pub(in crate::run) directions: Directions,
    /// As in [`crate::solve::BlockScore`].
    pub(in crate::run) r2_rounding: f64,
    /// Only if controls are requested.
    pub(in crate::run) inputs: Option<InputDistribution>,
    /// Replacements of the network, by their name in `delta_ppl`.
    pub(in crate::run) replacements: Vec<(String, Replacement<T>)>,
}

impl<T> SolvedBlock<T> {
    /// Adds a replacement of the network. Its change of perplexity is null if the model has no perplexity.
    pub(in crate::run) fn replace<B: Backend<Tensor = T>>(
        &mut self,
        pass: &Pass<'_, B>,
        name: &str,
        replacement: Replacement<T>,
    ) {
        if !pass.has_perplexity {
            self.report.delta_ppl.insert(name.into(), None);
        }
        self.replacements.push((name.into(), replacement));
    }
}

/// The future of one measure.
pub(in crate::run) type MeasureFuture<'a> = LocalBoxFuture<'a, Result<()>>;

/// One measure of a block: reads a visit and fills in its fields of the block's report.
pub(in crate::run) trait BlockMeasure<B: Backend> {
    /// Whether it needs the training rows too, which are not kept otherwise.
    fn needs_all_rows(&self) -> bool {
        false
    }

    /// Whether it needs the block's weights.
    fn needs_weights(&self) -> bool {
        false
    }

    /// Measures the block while the rows of the next one run.
    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a>;

    /// Measures times, which need an otherwise idle device.
    fn time<'a>(&'a mut self, _visit: &'a Visit<'_, B>, _solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        async { Ok(()) }.boxed_local()
    }
}
