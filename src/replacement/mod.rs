//! Replacements of a feed-forward network, an affine map or a probe, and their effect on the model's loss.

pub mod device_map;
pub mod export;
pub mod kept_layers;
pub mod probe;
pub mod replaced;
pub mod swap;
