//! What stands in for feed-forward networks (docs/measures.md, section 4).

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::backend::Backend;
use crate::error::Result;
use crate::replacement::device_map::{DeviceMap, upload_row};
use crate::replacement::probe::Probe;
use crate::solve::{AffineMap, LowRankMap};

/// What stands in for a feed-forward network, by block.
pub type Replacements<T> = BTreeMap<usize, Replacement<T>>;

/// What stands in for one feed-forward network, or for a whole layer.
#[derive(Clone, Debug)]
pub enum Replacement<T> {
    /// An affine map of its input.
    Affine(DeviceMap<T>),
    /// A trained probe.
    Probe(Rc<Probe<T>>),
    /// The same row `(1, d_out)` whatever the input: its mean, or zero.
    Constant(T),
}

impl<T: Clone> Replacement<T> {
    /// An affine map, on the device.
    pub fn affine<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        DeviceMap::upload(backend, map).map(Self::Affine)
    }

    /// A low-rank map as its two thin factors, on the device.
    pub fn low_rank<B: Backend<Tensor = T>>(backend: &B, map: &LowRankMap) -> Result<Self> {
        DeviceMap::upload_factors(backend, map).map(Self::Affine)
    }

    /// A constant row, on the device.
    pub fn constant<B: Backend<Tensor = T>>(backend: &B, row: &[f64]) -> Result<Self> {
        upload_row(backend, "constant", row).map(Self::Constant)
    }

    /// What it returns for the rows of x.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        match self {
            Self::Affine(map) => map.apply(backend, x),
            Self::Probe(probe) => probe.apply(backend, x),
            Self::Constant(row) => backend.gather(row, &vec![0; backend.shape(x).rows]),
        }
    }
}
