//! The engine in a browser worker. This library holds what the benchmarks need as well; the rest is in the program.

pub mod helpers;
