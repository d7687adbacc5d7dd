//! Browser functions that page and worker share.

pub mod alive;
pub mod fetch;
pub mod foreign;
