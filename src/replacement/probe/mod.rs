//! Small trained networks, compared with the affine map: how much of its residual can they explain (docs/measures.md,
//! section 5)?
//!
//! In reading order: [`Kind`] lists the architectures; [`network`] has layers and hand-written gradients; [`train`]
//! trains them on batches of rows on the device; [`readout`] solves the last layer again in closed form, which gives a
//! [`Probe`] that can replace a feed-forward network. All of it is generic over [`crate::backend::Backend`].

mod kind;
pub mod network;
pub mod readout;
pub mod train;
mod trained;

pub use kind::{Kind, Values};
pub use trained::Probe;
