//! Fuzzing of every parser of untrusted input: valid files are mutated at the level of their structure and as bytes, and
//! each is read under a watch of panics, time and memory.
//!
//! In reading order: [`target`] is a parser, [`targets`] lists all with valid inputs, [`mutate`] changes an input, [`trial`] reads one
//! under watch, [`own`] tells its threads from others, [`campaign`] does so many times, and [`minimise`] shortens what failed. All draws follow from a seed.

pub mod campaign;
pub mod memory;
pub mod minimise;
pub mod mutate;
pub mod own;
pub mod target;
pub mod targets;
pub mod trial;

#[global_allocator]
static COUNTED: memory::Counted = memory::Counted;
