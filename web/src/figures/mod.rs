//! From a report to charts: what each view shows, as numbers, with the same numbers as a table.
//!
//! Every function takes a report that may be half done, and leaves out what is not there yet. To be read from
//! `figure.rs`, which says what a figure is, over one file per view to `by_view.rs`, which lists them; `compare.rs` is
//! of several measurements at once.

mod baseline;
mod by_view;
mod compare;
mod controls;
mod detail;
pub mod detail_numbers;
pub mod differences;
mod figure;
mod healing;
mod layers;
mod losses;
mod probes;
mod ranks;
mod regimes;
#[cfg(test)]
mod sample;
mod shown;
pub mod table;

pub use by_view::figures;
pub use compare::compared;
pub use figure::{Figure, Grid};
#[cfg(test)]
pub(crate) use sample::report as sample_report;
pub use shown::shown_block;
