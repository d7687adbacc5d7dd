//! `--dump-maps`: W (d_in, d_out) and b of every block as f64 safetensors.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use straightedge::error::{Error, Result};
use straightedge::event::MapDump;

/// The maps as the bytes of a safetensors file: tensors `blocks.N.weight` and `blocks.N.bias`.
pub(super) fn safetensors(maps: &[MapDump]) -> Result<Vec<u8>> {
    let damaged =
        |error: safetensors::SafeTensorError| Error::MalformedWeights { file: "maps".into(), why: error.to_string() };
    let little_endian = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let mut data = Vec::new();
    for map in maps {
        let d_out = map.bias.len();
        data.push((
            format!("blocks.{}.weight", map.block),
            vec![map.weight.len() / d_out, d_out],
            little_endian(&map.weight),
        ));
        data.push((format!("blocks.{}.bias", map.block), vec![d_out], little_endian(&map.bias)));
    }
    let views = data.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)));
    let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(damaged)?;
    serialize(views, None).map_err(damaged)
}
