//! The page's address: what it says of the form, the view, a comparison and a continuation, and a report measured again.

pub mod address;
pub mod comparison;
pub mod continuation;
mod given;
pub mod repeat;
