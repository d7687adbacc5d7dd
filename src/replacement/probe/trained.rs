//! A trained probe as a function of rows.

use serde::{Deserialize, Serialize};

use super::readout::Features;
use crate::backend::Backend;
use crate::error::Result;
use crate::replacement::device_map::{DeviceMap, Role};

/// A trained probe in raw units, with its readout solved in closed form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe<T> {
    /// The block's affine map: it standardises the input, and is the frozen part if there is one.
    pub map: DeviceMap<T>,
    /// Whether the map's output is added.
    pub frozen_map: bool,
    /// Computes the features that the readout takes.
    pub features: Features<T>,
    /// Maps features to y, or to y − ŷ.
    pub readout: DeviceMap<T>,
}

impl<T> Probe<T> {
    /// The same probe with `make` applied to every tensor. A map that only standardises the input has no weights.
    pub fn map<U>(&self, make: &mut dyn FnMut(&T, Role) -> Result<U>) -> Result<Probe<U>> {
        let map = match self.frozen_map {
            true => self.map.map(make)?,
            false => self.map.map(&mut |tensor, _| make(tensor, Role::Constant))?,
        };
        let (features, readout) = (self.features.map(make)?, self.readout.map(make)?);
        Ok(Probe { map, frozen_map: self.frozen_map, features, readout })
    }
}

impl<T: Clone> Probe<T> {
    /// The output for the rows of x, `(rows, d_out)`.
    pub fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        let x = self.map.standardise(backend, x)?;
        let read = self.readout.apply(backend, &self.features.of(backend, &x)?)?;
        if !self.frozen_map {
            return Ok(read);
        }
        backend.add(&self.map.apply_standardised(backend, &x)?, &read)
    }
}
