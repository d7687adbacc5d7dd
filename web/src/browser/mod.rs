//! What page and worker ask of the browser alike.

pub mod alive;
pub mod fetch;
