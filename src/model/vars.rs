//! A place in a checkpoint's tree of tensors, so that family files read like the checkpoint itself.

use std::cell::Cell;
use std::fmt::Display;

use super::{Linear, ModelConfig, Norm};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::pause::pause;
use crate::weights::{OnBytes, Weights};

/// Brings tensors from files to a backend, one at a time, and counts the bytes.
pub(super) struct Loader<'a, B> {
    pub(super) backend: &'a B,
    pub(super) weights: &'a Weights,
    pub(super) on_bytes: OnBytes<'a>,
    pub(super) done: Cell<u64>,
}

/// A path such as `transformer.h.0.attn`.
pub(super) struct Vars<'a, B> {
    loader: &'a Loader<'a, B>,
    path: String,
}

impl<'a, B: Backend> Vars<'a, B> {
    /// The root of the tree.
    pub(super) fn root(loader: &'a Loader<'a, B>) -> Self {
        Self { loader, path: String::new() }
    }

    /// The place `segment` below this one.
    pub(super) fn at(&self, segment: impl Display) -> Self {
        Self { loader: self.loader, path: self.name(segment) }
    }

    /// The place `prefix` below this one where a tensor `probe` lies there; else this one: some exports drop the prefix.
    pub(super) fn at_if_there(&self, prefix: &str, probe: &str) -> Self {
        let below = self.at(prefix);
        if below.has(probe) { below } else { self.at_itself() }
    }

    fn at_itself(&self) -> Self {
        Self { loader: self.loader, path: self.path.clone() }
    }

    fn name(&self, segment: impl Display) -> String {
        if self.path.is_empty() { segment.to_string() } else { format!("{}.{segment}", self.path) }
    }

    fn has(&self, name: &str) -> bool {
        self.loader.weights.has(&self.name(name))
    }

    /// The values of a tensor here, row-major.
    pub(super) async fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let Loader { weights, on_bytes, done, .. } = self.loader;
        let name = self.name(name);
        let values = weights.tensor(&name, shape).await?;
        done.set(done.get() + weights.bytes(&name));
        on_bytes(done.get(), weights.total_bytes());
        pause().await;
        Ok(values)
    }

    /// Uploads values under a name that is known here.
    pub(super) fn upload(&self, name: &str, rows: usize, values: &[f32]) -> Result<B::Tensor> {
        let shape = Shape::new(rows, values.len() / rows);
        self.loader.backend.upload(&self.name(name), shape, values)
    }

    /// Uploads the values of the tensor `name`, or some of them in another order, which the device may keep as they are
    /// stored.
    pub(super) fn upload_stored(&self, name: &str, rows: usize, values: &[f32]) -> Result<B::Tensor> {
        let name = self.name(name);
        let storage = self.loader.weights.storage(&name);
        self.loader.backend.upload_stored(&name, Shape::new(rows, values.len() / rows), values, storage)
    }

    /// A tensor here as `(rows, cols)`: a table, or the weight of a linear layer.
    pub(super) async fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<B::Tensor> {
        self.upload_stored(name, rows, &self.values(name, &[rows, cols]).await?)
    }

    /// A vector here as `(1, len)`.
    pub(super) async fn vector(&self, name: &str, len: usize) -> Result<B::Tensor> {
        self.upload(name, 1, &self.values(name, &[len]).await?)
    }

    /// `weight` (outputs, inputs), and `bias` where there is one.
    pub(super) async fn linear(&self, outputs: usize, inputs: usize, has_bias: bool) -> Result<Linear<B::Tensor>> {
        let weight = self.matrix("weight", outputs, inputs).await?;
        let bias = if has_bias { Some(self.vector("bias", outputs).await?) } else { None };
        Ok(Linear { weight, bias })
    }

    /// The output head `name`: the embedding where they are tied, nothing where nobody needs it.
    pub(super) async fn head(
        &self,
        name: &str,
        embedding: &B::Tensor,
        config: &ModelConfig,
        need_head: bool,
    ) -> Result<Option<Linear<B::Tensor>>> {
        match (need_head, config.tie_word_embeddings) {
            (false, _) => Ok(None),
            (true, true) => Ok(Some(Linear { weight: embedding.clone(), bias: None })),
            (true, false) => self.at(name).linear(config.vocab_size, config.hidden_size, false).await.map(Some),
        }
    }

    /// LayerNorm; old checkpoints call its scale and offset `gamma` and `beta`.
    pub(super) async fn layer_norm(&self, width: usize, eps: f32) -> Result<Norm<B::Tensor>> {
        let old = !self.has("weight") && self.has("gamma");
        let (weight, bias) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        Ok(Norm::Layer { weight: self.vector(weight, width).await?, bias: self.vector(bias, width).await?, eps })
    }

    /// RMSNorm.
    pub(super) async fn rms_norm(&self, width: usize, eps: f32) -> Result<Norm<B::Tensor>> {
        Ok(Norm::Rms { weight: self.vector("weight", width).await?, eps })
    }
}
