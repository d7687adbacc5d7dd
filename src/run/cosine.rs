//! The second look at the held-out rows: the mean cosine of ŷ and y, which moments cannot tell.

use crate::backend::{Backend, Shape};
use crate::corpus::Folds;
use crate::error::Result;
use crate::job::Protocol;
use crate::solve::AffineMap;

use super::events::Meter;
use super::rows::{RowSource, batches};

/// Mean over the counted held-out rows of cos(ŷ, y), per block; `maps` in the order of the source's blocks.
pub(super) async fn mean_cosines<B: Backend>(
    backend: &B,
    source: &impl RowSource<B>,
    maps: &[AffineMap],
    folds: &Folds,
    protocol: &Protocol,
    meter: &Meter,
) -> Result<Vec<f64>> {
    let maps = maps.iter().map(|map| DeviceMap::upload(backend, map)).collect::<Result<Vec<_>>>()?;
    let mut sums = vec![0.0; maps.len()];
    let (mut counted, mut done) = (0, 0);
    for batch in batches(folds, folds.len() - 1..folds.len(), protocol.seq_len) {
        let mut cosines = Vec::with_capacity(maps.len());
        source
            .show(&batch, &mut |rows| {
                let predicted = maps[cosines.len()].apply(backend, &rows.x)?;
                cosines.push(backend.row_cosines(&predicted, &rows.y)?);
                Ok(())
            })
            .await?;
        for (sum, cosines) in sums.iter_mut().zip(&cosines) {
            let cosines = backend.read(cosines).await?;
            let windows = cosines.chunks_exact(protocol.seq_len);
            *sum += windows.flat_map(|window| &window[protocol.skip_positions..]).map(|&c| f64::from(c)).sum::<f64>();
        }
        counted += batch.windows.len() * (protocol.seq_len - protocol.skip_positions);
        done += batch.windows.len() * protocol.seq_len;
        meter.reach(done as u64).await;
    }
    Ok(sums.into_iter().map(|sum| sum / counted as f64).collect())
}

/// An affine map on a device, in the centred and scaled form that f32 can hold.
struct DeviceMap<T> {
    mean: T,
    inverse_deviation: T,
    /// (W ⊙ σ)ᵀ, `(d_out, d_in)`.
    weight: T,
    offset: T,
}

impl<T: Clone> DeviceMap<T> {
    fn upload<B: Backend<Tensor = T>>(backend: &B, map: &AffineMap) -> Result<Self> {
        let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
        let row = |name: &str, values: Vec<f32>| backend.upload(name, Shape::new(1, values.len()), &values);
        let weight: Vec<f32> = (0..d_out)
            .flat_map(|j| (0..d_in).map(move |i| (map.weight[i * d_out + j] * map.deviation_x[i]) as f32))
            .collect();
        Ok(Self {
            mean: row("map mean", map.mean_x.iter().map(|&mean| mean as f32).collect())?,
            inverse_deviation: row("map scale", map.deviation_x.iter().map(|sigma| sigma.recip() as f32).collect())?,
            weight: backend.upload("map weight", Shape::new(d_out, d_in), &weight)?,
            offset: row("map offset", map.mean_y.iter().map(|&mean| mean as f32).collect())?,
        })
    }

    fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        let standardised = backend.standardise(x, &self.mean, &self.inverse_deviation)?;
        backend.linear(&standardised, &self.weight, Some(&self.offset))
    }
}
