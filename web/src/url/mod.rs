//! The page's state as a link, and a result as part of it.

pub mod address;
pub mod comparison;
pub mod continuation;
pub mod finding;
mod given;
pub mod overlay;
pub mod repeat;
mod values;
mod wire;
