//! Platform services that differ between native and browser builds, behind one interface: threads, yielding to the
//! browser, hashes and random numbers.

pub mod digest;
pub(crate) mod parallel;
pub mod random;
pub mod yielding;
