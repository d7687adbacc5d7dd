//! Any number of measurements in one chart: which ones, their styles, and which one is in front.
//!
//! Reading order: `key.rs` names what can be compared, [`presets`] are the ready comparisons of the recorded models, a
//! [`Comparison`] holds the chosen [`Key`]s, and [`sources::Sources`] finds the numbers of a key.

pub mod atlas;
pub mod cards;
mod chosen;
mod key;
pub mod overlay;
pub mod presets;
pub mod published;
pub mod sources;

pub use chosen::{Comparison, Entry};
pub use key::Key;
