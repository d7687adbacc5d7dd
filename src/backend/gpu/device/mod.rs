//! An open device, its buffers and its submissions.
//!
//! In reading order: `adapter` finds and opens the device; `tensor` owns its buffers; `pacer` plans how much work one
//! submission holds, and `waits` knows the latency of waiting; `engine` records and submits, `grid` computes workgroup
//! counts; `read` waits and reads back.

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
