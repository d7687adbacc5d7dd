//! Every kernel against an independent reference: f64 loops for the forward pass, i128 for exact Grams.
//!
//! Outputs are filled with NaN before a kernel writes them.

mod attention;
mod compare;
mod device;
mod exact;
mod forward;
mod gram;
mod operations;
mod random;
mod rewrite;
mod storage;
mod training;
mod tuning;
