//! Benchmarks of the engine's parts on this machine: every figure of `cargo xtask bench`, natively and in a browser.
//!
//! In reading order: [`settings`] says what to measure, [`suite`] measures it on each backend through `peak` (the
//! device's maximum), `kernels`, `gram`, `solve` and `whole` (complete measurements of a generated [`model`]),
//! [`results`] is the plain data, and [`table`] prints it. Nothing here is part of the engine or of the page.

mod clock;
mod gram;
mod kernels;
mod memory;
pub mod model;
mod peak;
pub mod results;
pub mod settings;
mod solve;
pub mod suite;
pub mod table;
mod whole;
