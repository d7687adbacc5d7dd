//! What the page and its worker share, and all of the page that needs no browser to be tested.
//!
//! Of the engine only its plain data is known here. The page (`main.rs`) adds signals and views, the worker
//! (`worker/main.rs`) the engine itself; [`message`] is all that passes between them.

pub mod address;
pub mod ahead;
pub mod alive;
pub mod beforehand;
pub mod bundled;
pub mod chart;
pub mod comparison;
pub mod controls;
pub mod cost;
pub mod course;
pub mod detail;
pub mod differences;
pub mod export;
pub mod fetch;
pub mod figures;
pub mod folder;
pub mod form;
pub mod format;
pub mod formula;
pub mod frame;
pub mod lesson;
pub mod message;
pub mod overlay;
pub mod published;
pub mod repeat;
pub mod run;
pub mod sides;
pub mod table;
pub mod texts;
pub mod views;
pub mod words;
// Part of the worker, and of the benchmarks' one.
#[cfg(feature = "worker")]
pub mod workers;
