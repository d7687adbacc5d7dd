//! The operations of [`crate::backend::Backend`] as WGSL kernels on WebGPU, natively and in a browser.
//!
//! In reading order: [`kernels`] lists the shaders; `device` opens a device, owns its buffers and submits work;
//! `choice` holds the selected kernels, and [`autotune`] selects them; `backend` combines these. `operations`
//! implements the backend's operations with `dispatch`; `matmul`, `attention` and `packed` split large work into
//! dispatches; `gram` accumulates second moments in 64-bit `sums` by `products` of the integers that [`quantise`]
//! defines. Nothing here depends on transformers.

mod attention;
pub mod autotune;
mod backend;
mod choice;
mod device;
mod dispatch;
mod gram;
pub mod kernels;
mod matmul;
mod operations;
mod packed;
mod products;
pub mod quantise;
mod sums;

pub use backend::{GpuBackend, LACKS_FEATURE, Options};
pub use choice::KernelChoice;
pub use device::{AdapterReport, Counts, Memory, Rewrite, Tensor, probe};
pub use gram::GpuGram;
pub use kernels::exact::Exact;
pub use kernels::products::{VARIANTS, Variant};
pub use kernels::rows::Reduction;
