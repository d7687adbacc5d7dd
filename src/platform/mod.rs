//! What natively and in a browser has another form, and is the same to everything above: threads, giving the browser its
//! turn, hashes and random numbers.

pub mod digest;
pub(crate) mod parallel;
pub mod yielding;

pub use straightedge_random as random;
