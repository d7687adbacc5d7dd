//! Every shader, with its bindings and its parameters, listed once.
//!
//! Binding 0 of every kernel is its uniform `Params`. Kernels that share a rule share a file, with an entry point each.
//! [`kernel`] says what a kernel is, `comments` strips its text of comments; [`elements`] are those without a choice,
//! and of [`products`], [`rows`] and [`gram`] several compete. `tests/shaders.rs` holds these tables against what naga
//! reads from the shaders.

mod comments;
pub mod elements;
pub mod exact;
pub mod gram;
pub mod kernel;
pub mod products;
pub mod rows;

pub use elements::*;
pub use kernel::{Access, Binding, Kernel, Member, Needs, Params, RowsParams};

/// Every kernel, specialisations of one shader by its overrides included.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let lists = [elements::KERNELS, products::KERNELS, gram::KERNELS].into_iter().flatten().copied();
    lists.chain(rows::OPERATIONS.into_iter().flatten())
}
