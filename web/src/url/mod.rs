//! The page's address: form, view, comparison and continuation in a link, and repeating the measurement of a report.

pub mod address;
pub mod comparison;
pub mod continuation;
mod given;
pub mod repeat;
