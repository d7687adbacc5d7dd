//! `swap` and `rank-swap`: every block's feed-forward network replaced, alone and then one after the other.
//!
//! What it costs in perplexity, and what it saves in parameters and time (docs/measures.md, section 4).

use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::job::Measure;
use crate::model::ModelConfig;
use crate::report::{GreedyStep, Seconds, finite};
use crate::solve::{AffineMap, Directions};
use crate::swap::{Replacement, Swaps};

use super::events::Meter;
use super::rows::{ModelRows, RowSource, batches};
use super::timing::row_microseconds;
use super::{Evaluated, Pass, Solved};

impl<B: Backend> Pass<'_, B> {
    /// Fills in `delta_ppl`, `compression` and `row_microseconds` of every block, then swaps one block after the other.
    /// Without an evaluation, which an encoder does not have, changes of perplexity are null.
    pub(super) async fn swap(
        &self,
        config: &ModelConfig,
        source: &ModelRows<'_, B>,
        evaluated: Option<&Evaluated<'_, B>>,
        solved: &mut [Solved],
        seconds: &mut Seconds,
    ) -> Result<()> {
        if !self.asks(Measure::Swap) && !self.asks(Measure::RankSwap) {
            return Ok(());
        }
        let ranks = self.ranks(config.hidden_size)?;
        let greedy = evaluated.filter(|_| self.asks(Measure::Swap) && solved.len() > 1);
        let single: usize = solved.iter().map(|block| 1 + self.candidates(block, &ranks).len()).sum();
        let total = single + greedy.map_or(0, |_| solved.len());
        let mut progress = Steps { meter: self.out.stage(Stage::Swap, total as u64), done: 0 };
        let inputs = self.timed_inputs(source).await?;
        for (block, x) in solved.iter_mut().zip(&inputs) {
            self.swap_block(config, source, evaluated, (block, x), &ranks, &mut progress).await?;
        }
        if let Some(evaluated) = greedy {
            self.swap_greedily(config, evaluated, solved, &mut progress).await?;
        }
        seconds.swap = progress.meter.seconds();
        Ok(())
    }

    async fn swap_block(
        &self,
        config: &ModelConfig,
        source: &ModelRows<'_, B>,
        evaluated: Option<&Evaluated<'_, B>>,
        (block, x): (&mut Solved, &B::Tensor),
        ranks: &[usize],
        progress: &mut Steps,
    ) -> Result<()> {
        let (index, rows) = (block.report.block, self.backend.shape(x).rows);
        let original = row_microseconds(self.backend, rows, || source.forward.network(index, x)).await?;
        let mut report = block.report.clone();
        report.row_microseconds.insert("original".into(), original);
        progress.step().await;
        for candidate in self.candidates(block, ranks) {
            let (name, replacement) = (candidate.name(), candidate.upload(self.backend, &block.map)?);
            report.compression.insert(name.clone(), candidate.compression(config.ffn_parameters(), &block.map));
            if candidate.computes() {
                let time = row_microseconds(self.backend, rows, || replacement.apply(self.backend, x)).await?;
                report.row_microseconds.insert(name.clone(), time);
            }
            let delta = match evaluated {
                Some(Evaluated { evaluation, ppl }) => {
                    finite(evaluation.swapped(&Swaps::from([(index, replacement)])).await? - ppl)
                }
                None => None,
            };
            report.delta_ppl.insert(name, delta);
            progress.step().await;
        }
        block.report = report;
        self.out.emit(Event::Block(Box::new(block.report.clone()))).await;
        Ok(())
    }

    /// All blocks made linear in the order of what each costs alone, with the perplexity after every step.
    async fn swap_greedily(
        &self,
        config: &ModelConfig,
        evaluated: &Evaluated<'_, B>,
        solved: &[Solved],
        progress: &mut Steps,
    ) -> Result<()> {
        let mut order: Vec<&Solved> = solved.iter().collect();
        let cost = |block: &Solved| block.report.delta_ppl.get("linear").copied().flatten().unwrap_or(f64::INFINITY);
        // Stable: of equally cheap blocks the one nearer to the input goes first.
        order.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let network = config.ffn_parameters();
        let all = config.num_hidden_layers * network;
        let (mut left, mut swaps, mut steps) = (all, Swaps::new(), Vec::new());
        for Solved { report, map, .. } in order {
            swaps.insert(report.block, Replacement::affine(self.backend, map)?);
            left = left - network + linear_parameters(map);
            let ppl = evaluated.evaluation.swapped(&swaps).await?;
            steps.push(GreedyStep {
                block: report.block,
                ppl: finite(ppl),
                delta_ppl: finite(ppl - evaluated.ppl),
                compression: finite(all as f64 / left as f64),
            });
            self.out.send(Event::Greedy(steps.clone()));
            progress.step().await;
        }
        Ok(())
    }

    /// What enters the feed-forward network of every measured block over the first held-out batch.
    async fn timed_inputs(&self, source: &ModelRows<'_, B>) -> Result<Vec<B::Tensor>> {
        let mut inputs = Vec::new();
        let heldout = self.folds.len() - 1..self.folds.len();
        for batch in batches(self.folds, heldout, self.job.protocol.seq_len).iter().take(1) {
            let mut take = |rows: super::rows::BlockRows<B::Tensor>| {
                inputs.push(rows.x);
                Ok(())
            };
            source.show(batch, &mut take).await?;
        }
        Ok(inputs)
    }

    /// The ranks asked for; 1, 2, 4 … and d itself where none are.
    fn ranks(&self, d: usize) -> Result<Vec<usize>> {
        self.job.ranks.as_ref().map_or_else(|| Ok(doubling_ranks(d).collect()), |ranks| ranks.within(d))
    }

    /// What stands in for a block, the cheapest to apply last.
    fn candidates<'a>(&self, block: &'a Solved, ranks: &[usize]) -> Vec<Candidate<'a>> {
        let mut all = Vec::new();
        if self.asks(Measure::Swap) {
            all.extend([Candidate::Linear, Candidate::Mean, Candidate::Zero]);
        }
        if let Some(directions) = &block.directions {
            all.extend(ranks.iter().map(|&k| Candidate::Rank(directions, k)));
        }
        all
    }
}

/// Progress of the stage.
struct Steps {
    meter: Meter,
    done: u64,
}

impl Steps {
    async fn step(&mut self) {
        self.done += 1;
        self.meter.reach(self.done).await;
    }
}

/// What can stand in for a feed-forward network.
#[derive(Clone, Copy)]
enum Candidate<'a> {
    Linear,
    Mean,
    Zero,
    Rank(&'a Directions, usize),
}

impl Candidate<'_> {
    /// As in [`crate::report::BlockReport::delta_ppl`].
    fn name(self) -> String {
        match self {
            Self::Linear => "linear".into(),
            Self::Mean => "mean".into(),
            Self::Zero => "zero".into(),
            Self::Rank(_, k) => format!("rank_{k}"),
        }
    }

    /// Whether its output depends on the input, so that it takes time.
    fn computes(self) -> bool {
        matches!(self, Self::Linear | Self::Rank(..))
    }

    fn upload<B: Backend>(self, backend: &B, map: &AffineMap) -> Result<Replacement<B::Tensor>> {
        match self {
            Self::Linear => Replacement::affine(backend, map),
            Self::Mean => Replacement::constant(backend, &map.mean_y),
            Self::Zero => Replacement::constant(backend, &vec![0.0; map.mean_y.len()]),
            Self::Rank(directions, k) => Replacement::low_rank(backend, &directions.factors(map, k)),
        }
    }

    /// Parameters of the network over those of what stands in for it; `None` where that has none.
    fn compression(self, network: usize, map: &AffineMap) -> Option<f64> {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        let own = match self {
            Self::Linear => linear_parameters(map),
            Self::Mean => d_out,
            Self::Zero => return None,
            Self::Rank(_, k) => k * (d_in + d_out) + d_out,
        };
        finite(network as f64 / own as f64)
    }
}

/// Weights and biases of the affine map.
fn linear_parameters(map: &AffineMap) -> usize {
    map.weight.len() + map.mean_y.len()
}

/// 1, 2, 4 … and d itself.
fn doubling_ranks(d: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |k| Some(2 * k)).take_while(move |k| *k < d).chain([d])
}

#[cfg(test)]
mod tests {
    use super::{AffineMap, Candidate, doubling_ranks};

    #[test]
    fn ranks_double_up_to_the_width() {
        assert_eq!(doubling_ranks(64).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(doubling_ranks(6).collect::<Vec<_>>(), [1, 2, 4, 6]);
        assert_eq!(doubling_ranks(1).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn compression_of_gpt2_is_as_published() {
        let d = 768;
        let zeros = vec![0.0; d];
        let weight = vec![0.0; d * d];
        let map = AffineMap { weight, mean_x: zeros.clone(), deviation_x: zeros.clone(), mean_y: zeros, rank: d };
        let compression = |candidate: Candidate<'_>| candidate.compression(4_722_432, &map);
        assert_eq!(compression(Candidate::Linear), Some(4_722_432.0 / 590_592.0));
        assert_eq!(compression(Candidate::Mean), Some(4_722_432.0 / 768.0));
        assert_eq!(compression(Candidate::Zero), None);
    }
}
