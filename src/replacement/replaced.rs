//! What stands in the place of a network, or of a whole layer.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::device_map::Role;
use super::probe::Values;
use super::swap::Replacement;
use crate::backend::Backend;
use crate::error::Result;

/// One replaced part of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Replaced<T> {
    /// The feed-forward network of a block.
    Network(Replacement<T>),
    /// A whole layer.
    Layer(Replacement<T>),
    /// A layer that passes its rows on unchanged.
    Removed,
}

/// The replaced parts of a model, by block.
pub type ReplacedParts<T> = BTreeMap<usize, Rc<Replaced<T>>>;

impl<T> Replaced<T> {
    /// The same part with `make` applied to every tensor.
    pub fn map<U>(&self, make: &mut dyn FnMut(&T, Role) -> Result<U>) -> Result<Replaced<U>> {
        Ok(match self {
            Self::Network(replacement) => Replaced::Network(replacement.map(make)?),
            Self::Layer(replacement) => Replaced::Layer(replacement.map(make)?),
            Self::Removed => Replaced::Removed,
        })
    }
}

impl<T: Clone> Replaced<T> {
    /// The same part with `make` applied to every tensor that healing trains.
    pub fn with_weights(&self, make: &mut dyn FnMut(&T) -> Result<T>) -> Result<Self> {
        self.map(&mut |tensor, role| if role == Role::Weight { make(tensor) } else { Ok(tensor.clone()) })
    }

    /// Copies the part to the host.
    pub async fn downloaded<B: Backend<Tensor = T>>(&self, backend: &B) -> Result<Replaced<Values>> {
        let mut tensors = Vec::new();
        self.map(&mut |tensor, _| {
            tensors.push(tensor.clone());
            Ok(())
        })?;
        let mut read = backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?.into_iter();
        self.map(&mut |tensor, _| {
            Ok(Values { shape: backend.shape(tensor), data: read.next().expect("as many as were read") })
        })
    }
}

impl Replaced<Values> {
    /// Copies the part to a device.
    pub fn upload<B: Backend>(&self, backend: &B) -> Result<Replaced<B::Tensor>> {
        self.map(&mut |values, _| values.upload(backend))
    }
}
