//! A sweep's inputs, the rows it keeps, and its results.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rows::Batch;
use super::source::Source;
use super::store::StoredRows;
use super::visit::BlockMeasure;
use crate::backend::Backend;
use crate::replacement::probe::Values;
use crate::replacement::replaced::Replaced;
use crate::report::BlockReport;
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::solve::AffineMap;
use crate::training::heal::CpuParts;
use crate::workers::WantedTensors;

/// A model, its text, and the measurement.
pub(in crate::run) struct Sweep<'a, B: Backend> {
    pub(in crate::run) pass: &'a Pass<'a, B>,
    pub(in crate::run) source: Source<'a, B>,
    /// Blocks that are measured, ascending.
    pub(in crate::run) blocks: &'a [usize],
    /// Counts bytes of loaded weights.
    pub(in crate::run) load: &'a StageMeter,
}

/// The measures of every block, in this order.
pub(in crate::run) type BlockMeasures<'a, B> = Vec<Box<dyn BlockMeasure<B> + 'a>>;

/// A measured block; map and probes are kept only if needed later.
pub(in crate::run) struct MeasuredBlock {
    pub(in crate::run) report: BlockReport,
    pub(in crate::run) map: Option<AffineMap>,
    /// The trained probes that are healed, by their names.
    pub(in crate::run) probes: Vec<(String, Replaced<Values>)>,
}

/// What a sweep has found.
pub(in crate::run) struct Swept {
    pub(in crate::run) blocks: Vec<MeasuredBlock>,
    /// Perplexity of the original model, if it is requested.
    pub(in crate::run) ppl: Option<f64>,
    /// What is healed together.
    pub(in crate::run) halves: HalfOrders,
}

/// The first half of orders of replacement, on the CPU, by their names.
pub(in crate::run) type HalfOrders = BTreeMap<&'static str, CpuParts>;

/// The residual stream of all batches between two blocks.
pub(in crate::run) type Stream<T> = Vec<Rc<StoredRows<T>>>;

/// Which rows visits keep.
pub(super) struct KeepPolicy {
    pub(super) all_rows: bool,
    pub(super) weights: bool,
    pub(super) layers: bool,
    pub(super) forks: bool,
}

/// Which tensors are kept of one batch.
pub(super) struct BatchKeep {
    pub(super) hidden: bool,
    pub(super) wanted: WantedTensors,
    pub(super) next: bool,
}

impl KeepPolicy {
    /// What is kept at a block that is measured.
    pub(super) fn measured(&self, batch: &Batch, folds: usize) -> BatchKeep {
        let at_fork = self.forks && batch.evaluated;
        let y = batch.fold().is_some_and(|fold| self.all_rows || fold + 1 == folds);
        BatchKeep { wanted: WantedTensors { x: y || at_fork, y, rest: at_fork }, ..self.unmeasured(batch) }
    }

    /// What is kept at a block that is not measured: the layers' streams alone.
    pub(super) fn unmeasured(&self, batch: &Batch) -> BatchKeep {
        let (forks, layers) = (self.forks && batch.evaluated, self.layers && batch.part.is_some());
        let wanted = WantedTensors { x: false, y: false, rest: false };
        BatchKeep { hidden: forks && self.layers || layers, wanted, next: layers }
    }
}
