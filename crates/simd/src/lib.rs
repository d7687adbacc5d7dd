//! The inner loops of the CPU backend: a package of its own, so that a module that is built for size can have them
//! compiled for speed.
//!
//! Nothing here has type parameters that a caller fills in, for such code is compiled where it is called; and nothing is
//! inlined there.

mod lanes;
mod loops;
mod panels;
mod tiles;

pub use loops::{Curve, add_bias, layer_norm, rms_norm, softmax};
pub use panels::{Columns, Pack, Panel, across};
pub use tiles::{PANEL, Product, Row, STRIPE, Tile};
