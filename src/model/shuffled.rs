//! A network with the values of every tensor in random order: what remains is their scale (docs/measures.md,
//! section 6).

use super::{Ffn, ModelPart as _};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::platform::random::Random;

/// Separates the seed's random stream of this use.
const STREAM: u64 = u64::from_be_bytes(*b"shuffled");

impl<T: Clone> Ffn<T> {
    /// This network of `block`, with every weight and every bias permuted within its tensor: gate, up, down, each
    /// weight, row by row, before its bias.
    pub async fn shuffled<B: Backend<Tensor = T>>(&self, backend: &B, block: usize, seed: u64) -> Result<Self> {
        let mut tensors = Vec::new();
        let shapes = self.clone().map(&mut |tensor| {
            let shape = backend.shape(&tensor);
            tensors.push(tensor);
            Ok::<_, Error>(shape)
        })?;
        let mut values = backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?.into_iter();
        let mut random = Random::stream(seed, &[STREAM, block as u64]);
        shapes.map(&mut |shape| {
            let mut values = values.next().unwrap_or_default();
            random.shuffle(&mut values);
            backend.upload("shuffled weight", shape, &values)
        })
    }
}
