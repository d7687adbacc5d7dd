//! Orders of replacement: blocks, or whole layers, replaced one after another, with the perplexity after every step.
//!
//! A step's candidates are variants of the model. Variants share rows up to the first block at which they differ, so
//! all of them take one sweep over the evaluated rows.

use std::rc::Rc;

use super::source::Source;
use super::state::{HalfOrders, MeasuredBlock, Sweep};
use super::store::StoredRows;
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, Shape};
use crate::error::{Error, Result};
use crate::event::{Event, Stage};
use crate::forward::BlockOutput;
use crate::job::Measure;
use crate::model::{Block, ModelPart as _};
use crate::platform::parallel;
use crate::replacement::replaced::{Replaced, ReplacedParts};
use crate::replacement::swap::Replacement;
use crate::report::{OrderStep, finite, orders};
use crate::run::evaluation::{BaseLoss, Loss, perplexity};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::solve::fit_map;
use crate::training::heal::CpuParts;
use crate::workers::sums::BlockSums;

/// The rows of some variants, which are identical so far.
struct Group<T> {
    variants: Vec<usize>,
    hidden: Vec<Rc<StoredRows<T>>>,
}

/// What is replaced in a greedy order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Candidates {
    /// Networks, by the maps of the original model.
    Networks,
    /// Networks, by maps fitted on the rows of the model with all earlier steps replaced.
    RefittedNetworks,
    /// Whole layers, removed.
    RemovedLayers,
    /// Whole layers, by maps fitted as for [`Candidates::RefittedNetworks`].
    RefittedLayers,
}

impl Candidates {
    const ALL: [Self; 4] = [Self::Networks, Self::RefittedNetworks, Self::RemovedLayers, Self::RefittedLayers];

    /// Key in the report.
    fn name(self) -> &'static str {
        match self {
            Self::Networks => orders::GREEDY,
            Self::RefittedNetworks => orders::GREEDY_REFITTED,
            Self::RemovedLayers => orders::LAYERS_REMOVED,
            Self::RefittedLayers => orders::LAYERS_LINEAR,
        }
    }

    fn are_layers(self) -> bool {
        matches!(self, Self::RemovedLayers | Self::RefittedLayers)
    }

    fn are_refitted(self) -> bool {
        matches!(self, Self::RefittedNetworks | Self::RefittedLayers)
    }
}

/// The orders of one measurement.
struct Orders<'o, 'a, B: Backend> {
    sweep: &'o Sweep<'a, B>,
    /// Loss of the original model.
    base: &'o BaseLoss,
    /// The maps of the measured blocks.
    maps: ReplacedParts<B::Tensor>,
    /// Parameters of a whole layer.
    layer_parameters: usize,
    /// Counts blocks passed and perplexities.
    meter: StageMeter,
}

impl<B: Backend> Sweep<'_, B> {
    /// Whether any order follows this sweep.
    pub(super) fn has_orders(&self) -> bool {
        let asks = |measure| self.pass.asks(measure);
        asks(Measure::Swap) && self.blocks.len() > 1 || !self.wanted_orders().is_empty()
    }

    /// Replaces blocks one after another: in the order of their own cost, then greedily. `base` is the loss of the
    /// original model. Returns what is healed together: the first half of the orders with refitted maps, by their names.
    pub(super) async fn replace_in_order(&self, swept: &[MeasuredBlock], base: &BaseLoss) -> Result<HalfOrders> {
        let mut halves = HalfOrders::new();
        if !self.has_orders() {
            return Ok(halves);
        }
        let part = |map| Ok(Rc::new(Replaced::Network(Replacement::affine(self.pass.backend, map)?)));
        let maps = swept.iter().filter_map(|block| Some((block.report.block, block.map.as_ref()?)));
        let maps = maps.map(|(block, map)| Ok((block, part(map)?))).collect::<Result<_>>()?;
        let wanted = self.wanted_orders();
        let meter = self.pass.out.stage(Stage::Greedy, self.order_steps(&wanted));
        let layer_parameters = self.layer_parameters().await?;
        let orders = Orders { sweep: self, base, maps, layer_parameters, meter };
        if self.pass.asks(Measure::Swap) {
            orders.by_cost(swept).await?;
        }
        for candidates in wanted {
            if let Some(half) = orders.greedy(candidates).await? {
                halves.insert(candidates.name(), half);
            }
        }
        self.pass.add_seconds(|seconds| &mut seconds.swap, orders.meter.seconds());
        Ok(halves)
    }

    fn wanted_orders(&self) -> Vec<Candidates> {
        let is_wanted = |candidates: &Candidates| {
            let own = if candidates.are_layers() { Measure::Prune } else { Measure::Greedy };
            self.pass.asks(own) || self.is_healed(*candidates)
        };
        Candidates::ALL.into_iter().filter(is_wanted).collect()
    }

    /// Whether the first half of an order is healed together.
    fn is_healed(&self, candidates: Candidates) -> bool {
        orders::HEALED.contains(&candidates.name()) && self.pass.asks(Measure::HealTogether)
    }

    /// The work of all orders: a unit for every block that a sweep passes, and for every perplexity.
    fn order_steps(&self, wanted: &[Candidates]) -> u64 {
        let layers = self.source.checkpoint.config().num_hidden_layers;
        let greedy = wanted.iter().map(|candidates| {
            let count = if candidates.are_layers() { layers } else { self.blocks.len() };
            let sweeps = if candidates.are_refitted() { 2 } else { 1 };
            (1..=count).map(|left| sweeps * layers + left).sum::<usize>()
        });
        let by_cost = if self.pass.asks(Measure::Swap) { layers + self.blocks.len() } else { 0 };
        (by_cost + greedy.sum::<usize>()) as u64
    }

    async fn layer_parameters(&self) -> Result<usize> {
        let mut parameters = 0;
        self.load(0).await?.map(&mut |tensor| {
            let Shape { rows, cols } = self.pass.backend.shape(&tensor);
            parameters += rows * cols;
            Ok::<_, Error>(())
        })?;
        Ok(parameters)
    }
}

impl<B: Backend> Orders<'_, '_, B> {
    /// The networks in ascending order of what each costs alone.
    async fn by_cost(&self, swept: &[MeasuredBlock]) -> Result<()> {
        let cost =
            |block: &MeasuredBlock| block.report.delta_ppl.get("linear").copied().flatten().unwrap_or(f64::INFINITY);
        let mut order: Vec<&MeasuredBlock> = swept.iter().collect();
        // Stable sort: of equally cheap blocks the earlier one comes first.
        order.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let order: Vec<usize> = order.iter().map(|block| block.report.block).collect();
        let variant = |step| {
            let replaced: &[usize] = &order[..=step];
            replaced.iter().filter_map(|block| Some((*block, self.maps.get(block)?.clone()))).collect()
        };
        let variants: Vec<ReplacedParts<_>> = (0..order.len()).map(variant).collect();
        let found = self.losses(&variants).await?;
        let steps = order.into_iter().zip(&found).enumerate();
        let step = |(step, (block, loss)): (usize, (usize, &Option<Loss>))| {
            self.step(block, loss.as_ref(), (step + 1, Candidates::Networks))
        };
        let steps = steps.map(step).collect::<Result<Vec<_>>>()?;
        self.pass().out.emit(Event::Order { name: orders::BY_COST.into(), steps }).await;
        Ok(())
    }

    /// After every step the cheapest of those left is chosen anew. Returns the first half of the order if it is healed.
    async fn greedy(&self, candidates: Candidates) -> Result<Option<CpuParts>> {
        let layers = self.sweep.source.checkpoint.config().num_hidden_layers;
        let mut left = if candidates.are_layers() { (0..layers).collect() } else { self.sweep.blocks.to_vec() };
        let (mut chosen, mut steps, mut half) = (ReplacedParts::new(), Vec::new(), None);
        let is_healed = self.sweep.is_healed(candidates);
        let healed = left.len().div_ceil(2);
        while !left.is_empty() {
            let parts = match candidates {
                Candidates::Networks => self.maps.clone(),
                Candidates::RemovedLayers => left.iter().map(|layer| (*layer, Rc::new(Replaced::Removed))).collect(),
                _ => self.refitted(&chosen, &left, candidates).await?,
            };
            let with = |block: &usize| {
                let mut variant = chosen.clone();
                variant.extend(parts.get(block).map(|part| (*block, part.clone())));
                variant
            };
            let mut variants: Vec<ReplacedParts<_>> = left.iter().map(with).collect();
            let found = self.losses(&variants).await?;
            // NaN counts as the most expensive; of equally cheap ones the earlier is chosen.
            let number = |ppl: f64| if ppl.is_nan() { f64::INFINITY } else { ppl };
            let cost = |loss: &Option<Loss>| perplexity(loss.as_ref()).map(number);
            let costs = found.iter().map(cost).collect::<Result<Vec<_>>>()?;
            let Some(at) = (0..found.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])) else { break };
            chosen = variants.swap_remove(at);
            steps.push(self.step(left.remove(at), found[at].as_ref(), (chosen.len(), candidates))?);
            self.pass().out.emit(Event::Order { name: candidates.name().into(), steps: steps.clone() }).await;
            if is_healed && steps.len() == healed {
                half = Some(copied(self.pass().backend, &chosen).await?);
            }
        }
        Ok(half)
    }

    fn pass(&self) -> &Pass<'_, B> {
        self.sweep.pass
    }

    /// A step after which `replaced` networks or layers are replaced.
    fn step(
        &self,
        block: usize,
        loss: Option<&Loss>,
        (replaced, candidates): (usize, Candidates),
    ) -> Result<OrderStep> {
        let config = self.sweep.source.checkpoint.config();
        let width = config.hidden_size;
        let map = if candidates == Candidates::RemovedLayers { 0 } else { width * (width + 1) };
        let each = if candidates.are_layers() { self.layer_parameters } else { config.ffn_parameters() };
        let all = each * config.num_hidden_layers;
        Ok(OrderStep {
            block,
            ppl: finite(perplexity(loss)?),
            delta_ppl: self.base.change(loss)?,
            compression: finite(all as f64 / (all - replaced * each + replaced * map) as f64),
            interval: self.base.interval(loss),
        })
    }

    /// Loss of every variant; `None` without an output head.
    async fn losses(&self, variants: &[ReplacedParts<B::Tensor>]) -> Result<Vec<Option<Loss>>> {
        let reading = self.sweep.source.reading.of_evaluation();
        let sweep = &Sweep { source: Source { reading: &reading, ..self.sweep.source }, ..*self.sweep };
        let mut groups = vec![Group { variants: (0..variants.len()).collect(), hidden: sweep.embed().await? }];
        for index in 0..sweep.source.checkpoint.config().num_hidden_layers {
            let block = sweep.load(index).await?;
            let mut next = Vec::with_capacity(groups.len() + 1);
            for Group { variants: all, hidden } in groups {
                for (part, of_part) in by_part(variants, &all, index) {
                    let hidden = sweep.group_through(&block, &hidden, part).await?;
                    next.push(Group { variants: of_part, hidden });
                }
            }
            groups = next;
            self.meter.advance(1).await;
        }
        let head = sweep.head().await?;
        let mut found = vec![None; variants.len()];
        for Group { variants: all, hidden } in groups {
            let rows: Vec<&StoredRows<_>> = hidden.iter().map(|kept| &**kept).collect();
            let loss = sweep.loss(head.as_ref(), &rows).await?;
            for variant in all {
                found[variant].clone_from(&loss);
                self.meter.advance(1).await;
            }
        }
        Ok(found)
    }

    /// The networks or layers `wanted` as affine maps, fitted on the training rows of the model with the parts `chosen`.
    async fn refitted(
        &self,
        chosen: &ReplacedParts<B::Tensor>,
        wanted: &[usize],
        candidates: Candidates,
    ) -> Result<ReplacedParts<B::Tensor>> {
        let Sweep { pass, source, .. } = *self.sweep;
        let reading = source.reading.of_training();
        let sweep = &Sweep { source: Source { reading: &reading, ..source }, ..*self.sweep };
        let (mut hidden, mut parts) = (sweep.embed().await?, ReplacedParts::new());
        for index in 0..source.checkpoint.config().num_hidden_layers {
            let block = sweep.load(index).await?;
            let part = chosen.get(&index).map(|part| &**part);
            if !wanted.contains(&index) {
                hidden = sweep.group_through(&block, &hidden, part).await?;
                self.meter.advance(1).await;
                continue;
            }
            let mut sums = BlockSums::new(pass.backend, index, pass.folds.len(), &pass.job.protocol, None);
            for (batch, kept) in reading.batches.iter().zip(&mut hidden) {
                let Some(half) = batch.part else { continue };
                let before = source.store.tensor(kept)?;
                let BlockOutput { x, y, next, .. } = source.layers.pass(&block, &before)?;
                let (x, y) = if candidates.are_layers() { (&before, &next) } else { (&x, &y) };
                sums.add((half, &batch.windows), x, y).await?;
                *kept = Rc::new(source.store.keep(next).await?);
            }
            let folds = sums.moments().await?;
            let map = parallel::on_own_thread(move || fit_map(index, &folds)).await;
            let map = map.unwrap_or_else(|| Err(Error::Solve { block: index, why: "its thread ended".into() }))?;
            let map = Replacement::affine(pass.backend, &map)?;
            let part = if candidates.are_layers() { Replaced::Layer(map) } else { Replaced::Network(map) };
            parts.insert(index, Rc::new(part));
            self.meter.advance(1).await;
        }
        Ok(parts)
    }
}

/// Replaced parts on the CPU, where they are healed.
async fn copied<B: Backend>(backend: &B, parts: &ReplacedParts<B::Tensor>) -> Result<CpuParts> {
    let mut copies = CpuParts::new();
    for (block, part) in parts {
        copies.insert(*block, Rc::new(part.downloaded(backend).await?.upload(&CpuBackend::new())?));
    }
    Ok(copies)
}

/// The variants `all`, by their part at a block.
fn by_part<'v, T>(
    variants: &'v [ReplacedParts<T>],
    all: &[usize],
    block: usize,
) -> Vec<(Option<&'v Replaced<T>>, Vec<usize>)> {
    let mut parts: Vec<(Option<&Replaced<T>>, Vec<usize>)> = Vec::new();
    for &variant in all {
        let part = variants[variant].get(&block).map(|part| &**part);
        let is_same = |other: &Option<&Replaced<T>>| match (other, part) {
            (Some(other), Some(part)) => std::ptr::eq(*other, part),
            (None, None) => true,
            _ => false,
        };
        match parts.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, of_part)) => of_part.push(variant),
            None => parts.push((part, vec![variant])),
        }
    }
    parts
}

impl<B: Backend> Sweep<'_, B> {
    /// Takes rows through a block, or through what stands in its place.
    async fn group_through(
        &self,
        block: &Block<B::Tensor>,
        hidden: &[Rc<StoredRows<B::Tensor>>],
        part: Option<&Replaced<B::Tensor>>,
    ) -> Result<Vec<Rc<StoredRows<B::Tensor>>>> {
        let (Source { store, layers, .. }, backend) = (self.source, self.pass.backend);
        let mut next = Vec::with_capacity(hidden.len());
        for kept in hidden {
            if let Some(Replaced::Removed) = part {
                next.push(kept.clone());
                continue;
            }
            let before = store.tensor(kept)?;
            let after = match part {
                Some(part) => layers.pass_replaced(part, block, &before)?,
                None => layers.pass(block, &before)?.next,
            };
            next.push(Rc::new(store.keep(after).await?));
        }
        backend.batch_end(None).await?;
        Ok(next)
    }
}
