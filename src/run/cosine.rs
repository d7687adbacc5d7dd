//! The second look at the held-out rows: the mean cosine of ŷ and y, which moments cannot tell.

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::Result;
use crate::job::Protocol;
use crate::solve::AffineMap;
use crate::swap::DeviceMap;

use super::events::Meter;
use super::rows::{RowSource, batches};

/// Mean over the counted held-out rows of cos(ŷ, y), per block; `maps` in the order of the source's blocks.
pub(super) async fn mean_cosines<B: Backend>(
    backend: &B,
    source: &impl RowSource<B>,
    maps: &[&AffineMap],
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
