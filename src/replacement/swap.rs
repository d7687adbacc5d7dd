//! Replacements of feed-forward networks (docs/measures.md, section 4).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::error::Result;
use crate::replacement::device_map::{DeviceMap, Role, upload_row};
use crate::replacement::probe::Probe;
use crate::solve::{AffineMap, LowRankMap};

/// The replaced feed-forward networks, by block.
pub type Replacements<T> = BTreeMap<usize, Replacement<T>>;

/// The replacement of one feed-forward network or of a whole layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Replacement<T> {
    /// An affine map of its input.
    Affine(DeviceMap<T>),
    /// A trained probe.
    Probe(Box<Probe<T>>),
    /// The same row `(1, d_out)` for every input: the mean, or zero.
    Constant(T),
}

impl<T> Replacement<T> {
    /// The same replacement with `make` applied to every tensor.
    pub fn map<U>(&self, make: &mut dyn FnMut(&T, Role) -> Result<U>) -> Result<Replacement<U>> {
        Ok(match self {
            Self::Affine(map) => Replacement::Affine(map.map(make)?),
            Self::Probe(probe) => Replacement::Probe(Box::new(probe.map(make)?)),
            Self::Constant(row) => Replacement::Constant(make(row, Role::Constant)?),
        })
    }
}

impl<T: Clone> Replacement<T> {
    /// Uploads an affine map.
    pub fn affine<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        DeviceMap::upload(backend, map).map(Self::Affine)
    }

    /// Uploads a low-rank map as its two thin factors.
    pub fn low_rank<B: Backend<Tensor = T>>(backend: &B, map: &LowRankMap) -> Result<Self> {
        DeviceMap::upload_factors(backend, map).map(Self::Affine)
    }

    /// Uploads a constant row.
    pub fn constant<B: Backend<Tensor = T>>(backend: &B, row: &[f64]) -> Result<Self> {
        upload_row(backend, "constant", row).map(Self::Constant)
    }

    /// The output for the rows of x.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        match self {
            Self::Affine(map) => map.apply(backend, x),
            Self::Probe(probe) => probe.apply(backend, x),
            Self::Constant(row) => backend.gather(row, &vec![0; backend.shape(x).rows]),
        }
    }
}
