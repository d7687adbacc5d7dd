//! Platform services that differ between native and browser builds, behind one interface: threads, yielding to the
//! browser, hashes and random numbers.

pub mod digest;
pub(crate) mod parallel;
pub mod yielding;

pub use straightedge_random as random;
