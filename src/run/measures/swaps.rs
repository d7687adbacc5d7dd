//! `swap` and `rank-swap`: replacements of every block's feed-forward network, and their savings in parameters and time
//! (docs/measures.md, section 4). The sweep measures their cost in perplexity.

use futures::FutureExt;

use crate::backend::Backend;
use crate::error::Result;
use crate::forward::Layers;
use crate::job::Measure;
use crate::replacement::swap::Replacement;
use crate::report::finite;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Visit, XyBatch};
use crate::solve::{AffineMap, Directions};

use super::timing::row_microseconds;

/// Fills in `compression` and `row_microseconds`, and adds the replacements.
pub(super) struct Swaps<'a, B: Backend> {
    pass: &'a Pass<'a, B>,
    layers: &'a Layers<'a, B>,
    ranks: Vec<usize>,
}

impl<'a, B: Backend> Swaps<'a, B> {
    /// Uses the job's ranks; without any, 1, 2, 4 … and `width` itself.
    pub(super) fn new(pass: &'a Pass<'a, B>, layers: &'a Layers<'a, B>, width: usize) -> Result<Self> {
        let requested = pass.job.ranks.as_ref();
        let ranks = requested.map_or_else(|| Ok(doubling_ranks(width).collect()), |ranks| ranks.within(width))?;
        Ok(Self { pass, layers, ranks })
    }

    /// The replacements to try.
    fn candidates<'s>(&self, directions: &'s Directions) -> Vec<SwapCandidate<'s>> {
        let mut all = Vec::new();
        if self.pass.asks(Measure::Swap) {
            all.extend([SwapCandidate::Linear, SwapCandidate::Mean, SwapCandidate::Zero]);
        }
        if self.pass.asks(Measure::RankSwap) {
            all.extend(self.ranks.iter().map(|&k| SwapCandidate::Rank(directions, k)));
        }
        all
    }

    async fn clock(&self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        let (Some(block), Some(first)) = (&visit.block, visit.heldout().next()) else { return Ok(()) };
        let (XyBatch { x, .. }, backend) = (first?, self.pass.backend);
        let rows = backend.shape(&x).rows;
        let times = &mut solved.report.row_microseconds;
        let original = row_microseconds(backend, rows, || self.layers.network(&block.ffn, &x)).await?;
        times.insert("original".into(), original);
        for candidate in self.candidates(&solved.directions).iter().filter(|candidate| candidate.computes()) {
            let name = candidate.name();
            if let Some((_, replacement)) = solved.replacements.iter().find(|(known, _)| *known == name) {
                let time = row_microseconds(backend, rows, || replacement.apply(backend, &x)).await?;
                times.insert(name, time);
            }
        }
        Ok(())
    }
}

impl<B: Backend> BlockMeasure<B> for Swaps<'_, B> {
    fn needs_weights(&self) -> bool {
        true
    }

    fn measure<'a>(
        &'a mut self,
        _visit: &'a Visit<'_, B>,
        solved: &'a mut SolvedBlock<B::Tensor>,
    ) -> MeasureFuture<'a> {
        async {
            let network = self.pass.ffn_parameters.unwrap_or_default();
            let mut replacements = Vec::new();
            for candidate in self.candidates(&solved.directions) {
                let compression = candidate.compression(network, &solved.map);
                solved.report.compression.insert(candidate.name(), compression);
                replacements.push((candidate.name(), candidate.upload(self.pass.backend, &solved.map)?));
            }
            for (name, replacement) in replacements {
                solved.replace(self.pass, &name, replacement);
            }
            Ok(())
        }
        .boxed_local()
    }

    fn time<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.clock(visit, solved).boxed_local()
    }
}

/// A possible replacement of a feed-forward network.
#[derive(Clone, Copy)]
enum SwapCandidate<'a> {
    Linear,
    Mean,
    Zero,
    Rank(&'a Directions, usize),
}

impl SwapCandidate<'_> {
    /// Its key in [`crate::report::BlockReport::delta_ppl`].
    fn name(self) -> String {
        match self {
            Self::Linear => "linear".into(),
            Self::Mean => "mean".into(),
            Self::Zero => "zero".into(),
            Self::Rank(_, k) => format!("rank_{k}"),
        }
    }

    /// Whether its output depends on the input, so that timing it makes sense.
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

    /// Parameters of the network divided by those of the replacement; `None` if the latter has none.
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
    use super::{AffineMap, SwapCandidate, doubling_ranks};

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
        let compression = |candidate: SwapCandidate<'_>| candidate.compression(4_722_432, &map);
        assert_eq!(compression(SwapCandidate::Linear), Some(4_722_432.0 / 590_592.0));
        assert_eq!(compression(SwapCandidate::Mean), Some(4_722_432.0 / 768.0));
        assert_eq!(compression(SwapCandidate::Zero), None);
    }
}
