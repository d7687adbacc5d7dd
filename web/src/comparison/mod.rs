//! Any number of measurements in one chart: which ones, how each looks, and which one stands in front.
//!
//! To be read in this order: `key.rs` says what can be compared, [`presets`] are the comparisons that the recorded
//! models are there for, a [`Comparison`] holds only what is chosen, by [`Key`], and [`sources::Sources`] finds the numbers
//! behind a key, wherever they come from.

pub mod atlas;
mod chosen;
mod key;
pub mod overlay;
pub mod presets;
pub mod published;
pub mod sources;

pub use chosen::{Comparison, Entry};
pub use key::Key;
