//! Every shader with its bindings and parameters, listed once.
//!
//! Binding 0 of every kernel is its uniform `Params`. Kernels that share code share a file, with an entry point each.
//! [`kernel`] defines a kernel, `comments` strips comments from its source. [`elements`] lists kernels without
//! alternatives; in [`products`], [`rows`] and [`gram`] several compete. `tests/shaders.rs` checks these tables against
//! what naga parses from the shaders.

mod comments;
pub mod elements;
pub mod exact;
pub mod gram;
pub mod kernel;
pub mod products;
pub mod rows;

pub use elements::*;
pub use kernel::{Access, Binding, Kernel, Member, Needs, Params, RowsParams};

/// Every kernel, including specialisations of one shader by overrides.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let lists = [elements::KERNELS, products::KERNELS, gram::KERNELS].into_iter().flatten().copied();
    lists.chain(rows::OPERATIONS.into_iter().flatten())
}
