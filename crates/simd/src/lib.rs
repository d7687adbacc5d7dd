//! The inner loops of the CPU backend, in a package of their own, so that a program built for size can still compile
//! them for speed.
//!
//! Public functions are neither generic over caller-supplied types nor inlined, because such code would be compiled in
//! the caller's package.

mod lanes;
mod loops;
mod panels;
mod tiles;

pub use loops::{Curve, add_bias, add_products, cosine, layer_norm, rms_norm, softmax, squared_distance};
pub use panels::{Columns, Pack, Panel, across};
pub use tiles::{PANEL, Product, Row, STRIPE, Tile};
