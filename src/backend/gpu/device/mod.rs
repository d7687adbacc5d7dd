//! An open device: its buffers, and what it is given to do.
//!
//! In reading order: `adapter` finds and opens it; `tensor` owns its buffers; `pacer` plans how much it is given at a
//! time, and `waits` knows what waiting takes; `engine` records and submits, `grid` says how many workgroups; `read`
//! waits and reads back.

pub(super) mod adapter;
pub(super) mod engine;
mod grid;
pub(super) mod pacer;
pub(super) mod read;
pub(super) mod tensor;
pub(super) mod waits;

pub(super) use adapter::Device;
pub use adapter::{AdapterReport, probe};
pub(super) use engine::Engine;
pub use engine::Rewrite;
pub(super) use read::{Incoming, Span};
pub(super) use tensor::{Buffer, Part};
pub use tensor::{Memory, Tensor};
pub use waits::Counts;
pub(super) use waits::Latency;
