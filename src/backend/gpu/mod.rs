//! The operations of [`crate::backend::Backend`] as WGSL kernels on WebGPU, natively and in a browser.
//!
//! In reading order: [`kernels`] lists the shaders; `device` opens a device, owns its buffers and gives it work; `choice`
//! says which of several kernels are used, and [`autotune`] finds them; `backend` puts these together. `operations` are
//! what a backend does, made of `dispatch`, of `matmul`, `attention` and `packed`, which cut large work into pieces, and
//! of `gram`, which accumulates second moments in 64-bit `sums` of what [`quantise`] describes, by `products`. Nothing
//! here knows what a transformer is.

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

pub use backend::{GpuBackend, Options};
pub use choice::KernelChoice;
pub use device::{AdapterReport, Counts, Memory, Rewrite, Tensor, probe};
pub use gram::GpuGram;
pub use kernels::exact::Exact;
pub use kernels::products::{VARIANTS, Variant};
pub use kernels::rows::Reduction;
