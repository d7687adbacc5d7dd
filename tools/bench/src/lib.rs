//! What the engine's parts cost on this machine: every figure of `cargo xtask bench`, natively and in a browser.
//!
//! In reading order: [`settings`] says what to measure, [`suite`] measures it on one backend after the other through
//! `peak` (what the device can do at all), `kernels`, `gram`, `solve` and `whole` (complete measurements of a [`model`]
//! made on the spot), [`results`] is what comes out as plain data, and [`table`] shows it to a person. Nothing here is
//! part of the engine or of the page.

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
