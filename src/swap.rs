//! Feed-forward networks replaced by something simpler, and what that does to perplexity (MEASURES.md section 4).

use std::collections::BTreeMap;
use std::ops::Range;

use crate::backend::{Backend, Shape};
use crate::corpus::TokenWindows;
use crate::error::{Error, Result};
use crate::forward::{Forward, ignore};
use crate::pause::pause;
use crate::solve::AffineMap;

/// What stands in for a feed-forward network, by block.
pub type Swaps<T> = BTreeMap<usize, Replacement<T>>;

/// What stands in for one feed-forward network, or for a whole layer.
#[derive(Clone, Debug)]
pub enum Replacement<T> {
    /// An affine map of its input.
    Affine(DeviceMap<T>),
    /// The same row `(1, d_out)` whatever the input: its mean, or zero.
    Constant(T),
}

impl<T: Clone> Replacement<T> {
    /// An affine map, on the device.
    pub fn affine<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        DeviceMap::upload(backend, map).map(Self::Affine)
    }

    /// A constant row, on the device.
    pub fn constant<B: Backend<Tensor = T>>(backend: &B, row: &[f64]) -> Result<Self> {
        upload_row(backend, "constant", row.iter().map(|&value| value as f32)).map(Self::Constant)
    }

    /// What it returns for the rows of x.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        match self {
            Self::Affine(map) => map.apply(backend, x),
            Self::Constant(row) => backend.gather(row, &vec![0; backend.shape(x).rows]),
        }
    }
}

/// An affine map on a device, in the centred and scaled form that f32 can hold.
#[derive(Clone, Debug)]
pub struct DeviceMap<T> {
    mean: T,
    inverse_deviation: T,
    /// (W ⊙ σ)ᵀ, `(d_out, d_in)`.
    weight: T,
    offset: T,
}

impl<T: Clone> DeviceMap<T> {
    /// Copies `map` to the device.
    pub fn upload<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        let weight: Vec<f32> = (0..d_out)
            .flat_map(|j| (0..d_in).map(move |i| (map.weight[i * d_out + j] * map.deviation_x[i]) as f32))
            .collect();
        let row = |name: &str, values: &[f64]| upload_row(backend, name, values.iter().map(|&value| value as f32));
        let inverse: Vec<f64> = map.deviation_x.iter().map(|sigma| sigma.recip()).collect();
        Ok(Self {
            mean: row("map mean", &map.mean_x)?,
            inverse_deviation: row("map scale", &inverse)?,
            weight: backend.upload("map weight", Shape::new(d_out, d_in), &weight)?,
            offset: row("map offset", &map.mean_y)?,
        })
    }

    /// ŷ for the rows of x.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        let standardised = backend.standardise(x, &self.mean, &self.inverse_deviation)?;
        backend.linear(&standardised, &self.weight, Some(&self.offset))
    }
}

fn upload_row<B: Backend>(backend: &B, name: &str, values: impl Iterator<Item = f32>) -> Result<B::Tensor> {
    let values: Vec<f32> = values.collect();
    backend.upload(name, Shape::new(1, values.len()), &values)
}

/// Most logits computed at once, so that a large vocabulary does not exhaust the device.
const MAX_LOGITS: usize = 1 << 24;
/// Rows of one evaluation batch.
const BATCH_ROWS: usize = 1024;

/// Windows on which perplexity is measured, with the residual stream entering every block kept on the device, so that
/// a swap runs only what comes after it again.
pub struct Evaluation<'a, B: Backend> {
    backend: &'a B,
    forward: &'a Forward<'a, B>,
    seq_len: usize,
    batches: Vec<Batch<B::Tensor>>,
}

struct Batch<T> {
    /// Per row the token that follows; unused at the end of a window.
    targets: Vec<u32>,
    /// Residual stream entering each layer, and after the last one.
    hidden: Vec<T>,
}

impl<'a, B: Backend> Evaluation<'a, B> {
    /// Runs the untouched model over the windows `which`, of `seq_len` tokens each.
    pub async fn new(
        backend: &'a B,
        forward: &'a Forward<'a, B>,
        windows: &TokenWindows,
        which: Range<usize>,
        seq_len: usize,
    ) -> Result<Self> {
        let step = (BATCH_ROWS / seq_len).max(1);
        let mut batches = Vec::new();
        for first in which.clone().step_by(step) {
            let ids = windows.ids(first..which.end.min(first + step));
            let mut hidden = Vec::new();
            let last = forward.run(ids, &mut |capture| {
                hidden.push(capture.hidden);
                Ok(())
            })?;
            hidden.push(last);
            let targets = ids.iter().skip(1).chain([&0]).copied().collect();
            batches.push(Batch { targets, hidden });
            pause().await;
        }
        Ok(Self { backend, forward, seq_len, batches })
    }

    /// Perplexity of the untouched model.
    pub async fn perplexity(&self) -> Result<f64> {
        self.perplexity_of(|batch| Ok(batch.hidden[batch.hidden.len() - 1].clone())).await
    }

    /// Perplexity with the feed-forward networks of `swaps` replaced.
    pub async fn swapped(&self, swaps: &Swaps<B::Tensor>) -> Result<f64> {
        let Some((&first, _)) = swaps.first_key_value() else { return self.perplexity().await };
        self.perplexity_of(|batch| self.forward.resume(first, batch.hidden[first].clone(), swaps, &mut ignore)).await
    }

    /// Perplexity with layer `layer` left out.
    pub async fn without_layer(&self, layer: usize) -> Result<f64> {
        self.perplexity_of(|batch| self.after_layer(layer, batch.hidden[layer].clone())).await
    }

    /// Perplexity with layer `layer` replaced by a map of the residual stream.
    pub async fn with_linear_layer(&self, layer: usize, map: &Replacement<B::Tensor>) -> Result<f64> {
        self.perplexity_of(|batch| self.after_layer(layer, map.apply(self.backend, &batch.hidden[layer])?)).await
    }

    fn after_layer(&self, layer: usize, hidden: B::Tensor) -> Result<B::Tensor> {
        self.forward.resume(layer + 1, hidden, &Swaps::new(), &mut ignore)
    }

    /// exp of the mean negative log-likelihood of tokens 1 … T−1 of every window, given the last residual stream.
    async fn perplexity_of(&self, last: impl Fn(&Batch<B::Tensor>) -> Result<B::Tensor>) -> Result<f64> {
        let (mut sum, mut predicted) = (0.0, 0usize);
        for batch in &self.batches {
            let hidden = last(batch)?;
            for first in (0..batch.targets.len()).step_by(self.rows_at_once()) {
                let rows = first..batch.targets.len().min(first + self.rows_at_once());
                let ids: Vec<u32> = rows.clone().map(|row| row as u32).collect();
                let logits = self.forward.logits(&self.backend.gather(&hidden, &ids)?)?;
                let nll = self.backend.next_token_nll(&logits, &batch.targets[rows])?;
                let nll = self.backend.read(&nll).await?;
                for window in nll.chunks_exact(self.seq_len) {
                    sum += window[..self.seq_len - 1].iter().map(|&nll| f64::from(nll)).sum::<f64>();
                    predicted += self.seq_len - 1;
                }
                pause().await;
            }
        }
        if predicted == 0 {
            return Err(Error::InvalidSetting {
                field: "perplexity".into(),
                value: "no predicted token".into(),
                hint: "give at least one whole window of 2 or more tokens to evaluate on".into(),
            });
        }
        Ok((sum / predicted as f64).exp())
    }

    /// Whole windows whose logits fit.
    fn rows_at_once(&self) -> usize {
        (MAX_LOGITS / self.forward.vocab_size() / self.seq_len).max(1) * self.seq_len
    }
}
