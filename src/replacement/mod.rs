//! What takes the place of a feed-forward network: an affine map or a probe, and what the model loses by it.

pub mod device_map;
pub mod export;
pub mod probe;
pub mod swap;
