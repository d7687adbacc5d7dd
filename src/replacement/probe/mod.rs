//! Small trained networks beside the affine map: how much of what it leaves over can they explain (docs/measures.md,
//! section 5)?
//!
//! In reading order: [`Kind`] says which networks there are; [`network`] is layers, their gradients by hand; [`train`] moves their parameters over batches of
//! rows on the device; [`readout`] solves the last layer again in closed form and makes a [`Probe`] of the whole, which
//! can stand in for a feed-forward network. Everything is written once over [`crate::backend::Backend`].

mod kind;
pub mod network;
pub mod readout;
pub mod train;
mod trained;

pub use kind::{Kind, RANK, Values};
pub use trained::Probe;
