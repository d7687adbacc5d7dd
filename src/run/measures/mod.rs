//! The measures of a block, each of which fills in its own fields of the report, and what they share.

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
