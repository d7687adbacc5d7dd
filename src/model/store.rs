//! A model's weights under the names and in the layout of a checkpoint of its family: what [`load`](super::load()) undoes.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::{Linear, Model, Norm};
use crate::backend::Backend;
use crate::error::Result;
use crate::weights::NewTensor;

/// The tensors so far.
pub(super) struct CheckpointWriter<'a, B> {
    pub(super) backend: &'a B,
    pub(super) tensors: BTreeMap<String, NewTensor>,
}

impl<B: Backend> CheckpointWriter<'_, B> {
    /// Row-major values of a tensor of the model.
    pub(super) async fn read(&self, tensor: &B::Tensor) -> Result<Vec<f32>> {
        self.backend.read(tensor).await
    }

    /// Values under a name.
    pub(super) fn put(&mut self, name: impl Display, shape: &[usize], values: Vec<f32>) {
        self.tensors.insert(name.to_string(), NewTensor { shape: shape.to_vec(), values });
    }

    /// `(rows, cols)` as it is.
    pub(super) async fn matrix(&mut self, name: impl Display, tensor: &B::Tensor) -> Result<()> {
        let shape = self.backend.shape(tensor);
        let values = self.read(tensor).await?;
        self.put(name, &[shape.rows, shape.cols], values);
        Ok(())
    }

    /// `(1, len)` as a vector.
    pub(super) async fn vector(&mut self, name: impl Display, tensor: &B::Tensor) -> Result<()> {
        let values = self.read(tensor).await?;
        self.put(name, &[values.len()], values);
        Ok(())
    }

    /// `weight` (outputs, inputs), and `bias` where there is one.
    pub(super) async fn linear(&mut self, path: impl Display, linear: &Linear<B::Tensor>) -> Result<()> {
        self.matrix(format!("{path}.weight"), &linear.weight).await?;
        match &linear.bias {
            Some(bias) => self.vector(format!("{path}.bias"), bias).await,
            None => Ok(()),
        }
    }

    /// `weight`, and of a LayerNorm `bias`.
    pub(super) async fn norm(&mut self, path: impl Display, norm: &Norm<B::Tensor>) -> Result<()> {
        match norm {
            Norm::Layer { weight, bias, .. } => {
                self.vector(format!("{path}.weight"), weight).await?;
                self.vector(format!("{path}.bias"), bias).await
            }
            Norm::Rms { weight, .. } => self.vector(format!("{path}.weight"), weight).await,
        }
    }

    /// The norm before the head, and the head where it is not the embedding.
    pub(super) async fn end(&mut self, norm: &str, head: &str, model: &Model<B::Tensor>) -> Result<()> {
        if let Some(final_norm) = &model.final_norm {
            self.norm(norm, final_norm).await?;
        }
        match &model.head {
            Some(linear) if !model.config.tie_word_embeddings => self.linear(head, linear).await,
            _ => Ok(()),
        }
    }
}
