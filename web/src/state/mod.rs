//! What is chosen, what was answered, and what both come to in words.

pub mod bundled;
pub mod cost;
pub mod course;
pub mod folder;
pub mod form;
pub mod frame;
pub mod preview;
pub mod recordings;
pub mod run;
pub mod views;
pub mod warnings;
pub mod words;
