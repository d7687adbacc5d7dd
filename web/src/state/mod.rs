//! Choices, results, and the sentences about them.

pub mod bundled;
pub mod cost;
pub mod folder;
pub mod form;
pub mod frame;
pub mod groups;
pub mod headline;
pub mod keys;
mod order;
pub mod order_status;
pub mod preview;
pub mod recordings;
pub mod run;
pub mod views;
pub mod warnings;
pub mod words;
