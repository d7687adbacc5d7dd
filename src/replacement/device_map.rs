//! Affine maps on a device (docs/measures.md, section 4).

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::solve::{AffineMap, LowRankMap};

/// An affine map on a device, in the centred and scaled form that is accurate in f32.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceMap<T> {
    mean: T,
    inverse_deviation: T,
    /// (W*·V_k ⊙ σ)ᵀ, `(k, d_in)`, for a low-rank map.
    inner: Option<T>,
    /// (W ⊙ σ)ᵀ, `(d_out, d_in)`; with `inner`, V_k, `(d_out, k)`.
    weight: T,
    offset: T,
}

/// What a tensor of a replacement is in healing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Trained.
    Weight,
    /// Left as it is: means and scales of inputs.
    Constant,
}

impl<T> DeviceMap<T> {
    /// The same map with `make` applied to every tensor.
    pub fn map<U>(&self, make: &mut dyn FnMut(&T, Role) -> Result<U>) -> Result<DeviceMap<U>> {
        Ok(DeviceMap {
            mean: make(&self.mean, Role::Constant)?,
            inverse_deviation: make(&self.inverse_deviation, Role::Constant)?,
            inner: self.inner.as_ref().map(|inner| make(inner, Role::Weight)).transpose()?,
            weight: make(&self.weight, Role::Weight)?,
            offset: make(&self.offset, Role::Weight)?,
        })
    }
}

impl<T: Clone> DeviceMap<T> {
    /// Copies `map` to the device.
    pub fn upload<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        Ok(Self {
            mean: upload_row(backend, "map mean", &map.mean_x)?,
            inverse_deviation: upload_row(backend, "map scale", &reciprocals(&map.deviation_x))?,
            inner: None,
            weight: backend.upload("map weight", Shape::new(d_out, d_in), &scaled(&map.weight, &map.deviation_x))?,
            offset: upload_row(backend, "map offset", &map.mean_y)?,
        })
    }

    /// Copies `map` to the device as its two factors: k·(d_in + d_out) products per row instead of d_in·d_out.
    pub fn upload_factors<B: Backend<Tensor = T>>(backend: &B, map: &LowRankMap) -> Result<Self> {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        let inner = scaled(&map.inner, &map.deviation_x);
        let outer: Vec<f32> = map.outer.iter().map(|&value| value as f32).collect();
        Ok(Self {
            mean: upload_row(backend, "map mean", &map.mean_x)?,
            inverse_deviation: upload_row(backend, "map scale", &reciprocals(&map.deviation_x))?,
            inner: Some(backend.upload("map inner factor", Shape::new(map.rank, d_in), &inner)?),
            weight: backend.upload("map outer factor", Shape::new(d_out, map.rank), &outer)?,
            offset: upload_row(backend, "map offset", &map.mean_y)?,
        })
    }

    /// The map in raw units, with the digits of f32; `None` for a low-rank one.
    pub async fn downloaded<B: Backend<Tensor = T>>(&self, backend: &B) -> Result<Option<AffineMap>> {
        if self.inner.is_some() {
            return Ok(None);
        }
        let read = async |tensor: &T| Ok(backend.read(tensor).await?.into_iter().map(f64::from).collect::<Vec<f64>>());
        let (mean_x, mean_y) = (read(&self.mean).await?, read(&self.offset).await?);
        let deviation_x = reciprocals(&read(&self.inverse_deviation).await?);
        let (scaled, d_in) = (read(&self.weight).await?, mean_x.len());
        let weight = |(i, j): (usize, usize)| scaled[j * d_in + i] / deviation_x[i];
        let weight = (0..d_in).flat_map(|i| (0..mean_y.len()).map(move |j| (i, j))).map(weight).collect();
        Ok(Some(AffineMap { weight, mean_x, deviation_x, mean_y, rank: d_in }))
    }

    /// ŷ for the rows of x.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        self.apply_standardised(backend, &self.standardise(backend, x)?)
    }

    /// x̃ = (x − x̄)/σ.
    pub fn standardise<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        backend.standardise(x, &self.mean, &self.inverse_deviation)
    }

    /// ŷ for the rows of x̃.
    pub fn apply_standardised<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        match &self.inner {
            Some(inner) => backend.linear(&backend.linear(x, inner, None)?, &self.weight, Some(&self.offset)),
            None => backend.linear(x, &self.weight, Some(&self.offset)),
        }
    }
}

fn reciprocals(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.recip()).collect()
}

/// (M ⊙ σ)ᵀ of a row-major M with one row per σ.
fn scaled(matrix: &[f64], deviation: &[f64]) -> Vec<f32> {
    let cols = matrix.len() / deviation.len();
    let column = |j: usize| deviation.iter().enumerate().map(move |(i, sigma)| (matrix[i * cols + j] * sigma) as f32);
    (0..cols).flat_map(column).collect()
}

/// Uploads a row.
pub(crate) fn upload_row<B: Backend>(backend: &B, name: &str, values: &[f64]) -> Result<B::Tensor> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    backend.upload(name, Shape::new(1, values.len()), &values)
}
