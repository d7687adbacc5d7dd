//! A second sweep that replaces all blocks by linear maps one after another, the cheapest first.
//!
//! Step s replaces one block more than step s − 1, so steps share rows up to the first block that only one of them
//! replaces. A group holds the rows of a range of steps and splits at each block.

use std::ops::Range;
use std::rc::Rc;

use super::StoredRows;
use super::forks::through;
use super::state::{MeasuredBlock, Sweep};
use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::job::Measure;
use crate::replacement::swap::Replacement;
use crate::report::{GreedyStep, finite};
use crate::run::measures::Source;

/// The rows of a range of steps that are identical so far.
struct Group<T> {
    steps: Range<usize>,
    hidden: Vec<Rc<StoredRows<T>>>,
}

impl<B: Backend> Sweep<'_, B> {
    /// Whether the greedy sweep follows this one.
    pub(super) fn swaps_greedily(&self) -> bool {
        self.pass.asks(Measure::Swap) && self.blocks.len() > 1
    }

    /// Swaps the blocks in the order of their own cost, and reports the perplexity after every step.
    pub(super) async fn swap_greedily(&self, swept: &[MeasuredBlock], ppl: f64) -> Result<()> {
        if !self.swaps_greedily() {
            return Ok(());
        }
        let mut order: Vec<&MeasuredBlock> = swept.iter().collect();
        let cost =
            |block: &MeasuredBlock| block.report.delta_ppl.get("linear").copied().flatten().unwrap_or(f64::INFINITY);
        // Stable sort: of equally cheap blocks the earlier one comes first.
        order.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let place = |block: usize| order.iter().position(|swept| swept.report.block == block);

        let reading = self.source.reading.of_evaluation();
        let sweep = Sweep { source: Source { reading: &reading, ..self.source }, ..*self };
        let layers = self.source.checkpoint.config().num_hidden_layers;
        let meter = self.pass.out.stage(Stage::Greedy, (layers + order.len()) as u64);
        // Step s replaces the first s + 1 blocks of the order.
        let mut groups = vec![Group { steps: 0..order.len(), hidden: sweep.embed().await? }];
        for index in 0..layers {
            let block = sweep.load(index).await?;
            let map = place(index).and_then(|place| order[place].map.as_ref());
            let linear = map.map(|map| Replacement::affine(self.pass.backend, map)).transpose()?;
            let mut next = Vec::with_capacity(groups.len() + 1);
            for Group { steps, hidden } in groups {
                // Steps from `at` on replace this block.
                let at = place(index).map_or(steps.end, |place| place.clamp(steps.start, steps.end));
                for (steps, replacement) in [(steps.start..at, None), (at..steps.end, linear.as_ref())] {
                    if !steps.is_empty() {
                        let hidden = sweep.group_through(&block, &hidden, replacement).await?;
                        next.push(Group { steps, hidden });
                    }
                }
            }
            groups = next;
            meter.reach(index as u64 + 1).await;
        }
        let head = sweep.head().await?;
        let (mut steps, mut left) = (Vec::new(), self.ffn_parameters() * layers);
        let all = left;
        for Group { steps: range, hidden } in groups {
            let rows: Vec<&StoredRows<_>> = hidden.iter().map(|kept| &**kept).collect();
            let found = sweep.perplexity(head.as_ref(), &rows).await?;
            for step in range {
                left = left - self.ffn_parameters() + self.linear_parameters();
                steps.push(GreedyStep {
                    block: order[step].report.block,
                    ppl: finite(found),
                    delta_ppl: finite(found - ppl),
                    compression: finite(all as f64 / left as f64),
                });
                self.pass.out.send(Event::Greedy(steps.clone()));
                meter.reach((layers + step + 1) as u64).await;
            }
        }
        self.pass.spend(|seconds| &mut seconds.swap, meter.seconds());
        Ok(())
    }

    async fn group_through(
        &self,
        block: &crate::model::Block<B::Tensor>,
        hidden: &[Rc<StoredRows<B::Tensor>>],
        replacement: Option<&Replacement<B::Tensor>>,
    ) -> Result<Vec<Rc<StoredRows<B::Tensor>>>> {
        let replacement = replacement.map(|replacement| (self.pass.backend, replacement));
        let mut next = Vec::with_capacity(hidden.len());
        for kept in hidden {
            let after = through(self.source.layers, block, &self.source.store.tensor(kept)?, replacement)?;
            next.push(Rc::new(self.source.store.keep(after).await?));
        }
        self.pass.backend.batch_end(None).await?;
        Ok(next)
    }

    fn ffn_parameters(&self) -> usize {
        self.source.checkpoint.config().ffn_parameters()
    }

    /// Weights and biases of a block's affine map.
    fn linear_parameters(&self) -> usize {
        let width = self.source.checkpoint.config().hidden_size;
        width * (width + 1)
    }
}
