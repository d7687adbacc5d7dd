//! `layers`: linearity of whole layers, the size of their updates, and perplexity without them.

use std::cell::RefCell;

use crate::backend::Backend;
use crate::corpus::TokenWindows;
use crate::error::Result;
use crate::event::{Event, Stage};
use crate::forward::Forward;
use crate::job::Protocol;
use crate::report::{LayerReport, Seconds, finite};
use crate::solve::{self, LayerScore};
use crate::swap::Replacement;

use super::rows::{self, Batch, BlockRows, RowSource};
use super::{Evaluated, Pass};

/// The residual stream before and after every layer, as x and y; keeps the relative update of every row.
struct LayerRows<'a, B: Backend> {
    backend: &'a B,
    forward: &'a Forward<'a, B>,
    windows: &'a TokenWindows,
    layers: Vec<usize>,
    /// Per batch and layer, `(rows, 1)`.
    ratios: RefCell<Vec<Vec<B::Tensor>>>,
}

impl<B: Backend> RowSource<B> for LayerRows<'_, B> {
    fn blocks(&self) -> &[usize] {
        &self.layers
    }

    async fn show(&self, batch: &Batch, take: &mut dyn FnMut(BlockRows<B::Tensor>) -> Result<()>) -> Result<()> {
        let (mut before, mut ratios): (Option<B::Tensor>, _) = (None, Vec::new());
        let mut pair = |x: B::Tensor, y: &B::Tensor| {
            ratios.push(self.backend.row_distance_ratios(&x, y)?);
            take(BlockRows { block: ratios.len() - 1, x, y: y.clone() })
        };
        let last = self.forward.run(self.windows.ids(batch.windows.clone()), &mut |capture| match before
            .replace(capture.hidden.clone())
        {
            Some(before) => pair(before, &capture.hidden),
            None => Ok(()),
        })?;
        if let Some(before) = before {
            pair(before, &last)?;
        }
        self.ratios.borrow_mut().push(ratios);
        Ok(())
    }
}

impl<B: Backend> Pass<'_, B> {
    /// Measures every layer in a pass of its own.
    pub(super) async fn layers(
        &self,
        forward: &Forward<'_, B>,
        windows: &TokenWindows,
        num_hidden_layers: usize,
        evaluated: Option<&Evaluated<'_, B>>,
        seconds: &mut Seconds,
    ) -> Result<()> {
        let protocol = &self.job.protocol;
        let layers = (0..num_hidden_layers).collect();
        let source = LayerRows { backend: self.backend, forward, windows, layers, ratios: RefCell::default() };
        let meter = self.out.stage(Stage::Layers, (self.folds.all().len() * protocol.seq_len) as u64);
        let grams = rows::accumulate(self.backend, &source, self.folds, 0..self.folds.len(), protocol, &meter).await?;
        let ratios = self.mean_ratios(source.ratios.into_inner(), num_hidden_layers, protocol).await?;
        for ((layer, gram), ratio) in grams.into_iter().enumerate().zip(ratios) {
            let folds = self.backend.moments(&gram).await?;
            drop(gram);
            let LayerScore { linearity, linearity_heldout, linearity_no_residual, map } =
                solve::score_layer(layer, &folds)?;
            let mut report = LayerReport {
                layer,
                linearity,
                linearity_heldout,
                linearity_no_residual,
                update_norm_ratio: finite(ratio),
                ..LayerReport::default()
            };
            let (mut removed, mut linear) = (None, None);
            if let Some(Evaluated { evaluation, ppl }) = evaluated {
                removed = finite(evaluation.without_layer(layer).await? - ppl);
                let map = Replacement::affine(self.backend, &map)?;
                linear = finite(evaluation.with_linear_layer(layer, &map).await? - ppl);
            }
            report.delta_ppl.insert("removed".into(), removed);
            report.delta_ppl.insert("linear".into(), linear);
            self.out.emit(Event::Layer(Box::new(report))).await;
        }
        seconds.layers = meter.seconds();
        Ok(())
    }

    /// Mean over the counted rows of ‖h_{ℓ+1} − h_ℓ‖/‖h_ℓ‖, per layer.
    async fn mean_ratios(&self, batches: Vec<Vec<B::Tensor>>, layers: usize, protocol: &Protocol) -> Result<Vec<f64>> {
        let (mut sums, mut counted) = (vec![0.0; layers], vec![0usize; layers]);
        for batch in batches {
            for (layer, ratios) in batch.iter().enumerate() {
                let ratios = self.backend.read(ratios).await?;
                for window in ratios.chunks_exact(protocol.seq_len) {
                    let counting = &window[protocol.skip_positions..];
                    sums[layer] += counting.iter().map(|&ratio| f64::from(ratio)).sum::<f64>();
                    counted[layer] += counting.len();
                }
            }
        }
        Ok(sums.iter().zip(&counted).map(|(sum, &counted)| sum / counted as f64).collect())
    }
}
