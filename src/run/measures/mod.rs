//! The measures of a block: one file each, filling in its own fields of the report.

mod baseline;
mod captured;
mod conjunction;
mod controls;
mod cosine;
mod degrees;
mod list;
mod probes;
mod swaps;
mod timing;
mod window_sums;
