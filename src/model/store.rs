//! Writes a model's weights under its family's checkpoint names and layout: the inverse of [`load`](super::load()).

use std::collections::BTreeMap;
use std::fmt::Display;

use super::{Linear, Model, Norm};
use crate::backend::Backend;
use crate::error::Result;
use crate::weights::NewTensor;

/// Collects the tensors of a checkpoint.
pub(super) struct CheckpointWriter<'a, B> {
    pub(super) backend: &'a B,
    pub(super) tensors: BTreeMap<String, NewTensor>,
}

impl<B: Backend> CheckpointWriter<'_, B> {
    /// Reads a tensor back from the device, row-major.
    pub(super) async fn read(&self, tensor: &B::Tensor) -> Result<Vec<f32>> {
        self.backend.read(tensor).await
    }

    /// Adds values under a name.
    pub(super) fn put(&mut self, name: impl Display, shape: &[usize], values: Vec<f32>) {
        self.tensors.insert(name.to_string(), NewTensor { shape: shape.to_vec(), values });
    }

    /// Adds a matrix `(rows, cols)` unchanged.
    pub(super) async fn matrix(&mut self, name: impl Display, tensor: &B::Tensor) -> Result<()> {
        let shape = self.backend.shape(tensor);
        let values = self.read(tensor).await?;
        self.put(name, &[shape.rows, shape.cols], values);
        Ok(())
    }

    /// Adds a tensor `(1, len)` as a vector.
    pub(super) async fn vector(&mut self, name: impl Display, tensor: &B::Tensor) -> Result<()> {
        let values = self.read(tensor).await?;
        self.put(name, &[values.len()], values);
        Ok(())
    }

    /// Adds `weight` (outputs, inputs), and `bias` if present.
    pub(super) async fn linear(&mut self, path: impl Display, linear: &Linear<B::Tensor>) -> Result<()> {
        self.matrix(format!("{path}.weight"), &linear.weight).await?;
        match &linear.bias {
            Some(bias) => self.vector(format!("{path}.bias"), bias).await,
            None => Ok(()),
        }
    }

    /// Adds `weight`, and `bias` of a LayerNorm.
    pub(super) async fn norm(&mut self, path: impl Display, norm: &Norm<B::Tensor>) -> Result<()> {
        match norm {
            Norm::Layer { weight, bias, .. } => {
                self.vector(format!("{path}.weight"), weight).await?;
                self.vector(format!("{path}.bias"), bias).await
            }
            Norm::Rms { weight, .. } => self.vector(format!("{path}.weight"), weight).await,
            Norm::Identity => Ok(()),
        }
    }

    /// Adds the final norm, and the head unless it is tied.
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
