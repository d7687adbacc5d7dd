//! The engine in a worker of the browser. What its benchmarks need as well is here; the rest belongs to the program.

pub mod helpers;
