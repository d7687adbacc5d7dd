//! From a report to charts: the figures of each view as numbers, with the same numbers as a table.
//!
//! Every function accepts a partial report and omits what is missing. Reading order: `figure.rs` defines a figure, then
//! one file per view, and `by_view.rs` lists them; `compare.rs` covers several measurements at once, and `verdict.rs` says what a profile shows.

mod baseline;
mod by_view;
mod compare;
mod controls;
mod degrees;
mod detail;
pub mod detail_numbers;
pub mod differences;
mod figure;
mod healed_together;
mod healing;
mod layers;
mod learning;
mod losses;
pub mod mechanism;
mod orders;
mod pairs;
mod probes;
mod ranking;
mod ranks;
mod regimes;
#[cfg(test)]
mod sample;
mod shown;
pub mod table;
mod verdict;

pub use by_view::figures;
pub use compare::compared;
pub use figure::{Figure, Grid};
pub use pairs::{pair, replacement_name, replacements};
pub use ranking::ranking;
#[cfg(test)]
pub(crate) use sample::report as sample_report;
pub use shown::shown_block;
pub use verdict::verdict;
