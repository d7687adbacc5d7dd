//! The measures of a block: one file each, filling in its own fields of the report.

mod baseline;
mod captured;
mod conjunction;
mod controls;
mod cosine;
mod degrees;
mod layers;
mod list;
mod probes;
mod properties;
mod source;
mod swaps;
mod timing;
mod window_sums;

pub(in crate::run) use layers::{LayerMeasure, MeasuredLayer};
pub(in crate::run) use source::Source;
