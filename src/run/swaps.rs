//! `swap` and `rank-swap`: perplexity with every block's feed-forward network replaced, one block at a time.

use crate::backend::Backend;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::job::Measure;
use crate::report::{Seconds, finite};
use crate::solve::AffineMap;
use crate::swap::{Replacement, Swaps};

use super::{Evaluated, Pass, Solved};

impl<B: Backend> Pass<'_, B> {
    /// Fills in `delta_ppl` of every block, the cheapest replacement first.
    pub(super) async fn swap(
        &self,
        evaluated: &Evaluated<'_, B>,
        solved: &mut [Solved],
        seconds: &mut Seconds,
    ) -> Result<()> {
        let Evaluated { evaluation, ppl } = evaluated;
        let total: usize = solved.iter().map(|block| self.replacements(block).len()).sum();
        if total == 0 {
            return Ok(());
        }
        let meter = self.out.stage(Stage::Swap, total as u64);
        let mut done = 0;
        for block in solved {
            for (name, replacement) in self.replacements(block) {
                let replacement = match replacement {
                    Candidate::Map(map) => Replacement::affine(self.backend, &map)?,
                    Candidate::Row(row) => Replacement::constant(self.backend, &row)?,
                };
                let swaps = Swaps::from([(block.report.block, replacement)]);
                let swapped = evaluation.swapped(&swaps).await?;
                block.report.delta_ppl.insert(name, finite(swapped - ppl));
                done += 1;
                meter.reach(done).await;
            }
            self.out.emit(Event::Block(Box::new(block.report.clone()))).await;
        }
        seconds.swap = meter.seconds();
        Ok(())
    }

    fn replacements(&self, block: &Solved) -> Vec<(String, Candidate)> {
        let mut all = Vec::new();
        if self.asks(Measure::Swap) {
            let zero = vec![0.0; block.map.mean_y.len()];
            all.push(("linear".to_owned(), Candidate::Map(block.map.clone())));
            all.push(("mean".to_owned(), Candidate::Row(block.map.mean_y.clone())));
            all.push(("zero".to_owned(), Candidate::Row(zero)));
        }
        if let Some(directions) = &block.directions {
            let ranks = ranks(block.map.mean_y.len());
            all.extend(ranks.map(|k| (format!("rank_{k}"), Candidate::Map(directions.map(&block.map, k)))));
        }
        all
    }
}

enum Candidate {
    Map(AffineMap),
    Row(Vec<f64>),
}

/// 1, 2, 4 … and d itself.
fn ranks(d: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |k| Some(2 * k)).take_while(move |k| *k < d).chain([d])
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn ranks_double_up_to_the_width() {
        assert_eq!(ranks(64).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(ranks(6).collect::<Vec<_>>(), [1, 2, 4, 6]);
        assert_eq!(ranks(1).collect::<Vec<_>>(), [1]);
    }
}
