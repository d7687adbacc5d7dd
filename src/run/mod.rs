//! Job in, events out: the one place that knows everyone.
//!
//! In reading order: `inputs` are what a job works on; `measure` begins; `prepared` is what is known before there is a
//! device; `pass` is one measurement on one; `sweep` takes all rows through block after block, where `measures` look at
//! them; `heal` and `continuation` need the whole model.

mod continuation;
mod device;
pub mod evaluation;
mod events;
mod extent;
mod feed;
mod header;
mod heal;
mod inputs;
mod kept;
mod measure;
mod measures;
mod memory;
mod pass;
mod prepared;
mod resume_file;
mod sweep;

pub use continuation::{MapSource, continuation};
pub use events::Events;
pub use extent::{extent, rows_extent};
pub use inputs::{Inputs, Text};
pub use kept::KeptMaps;
pub use measure::{fit, measure, measure_inputs};
#[cfg(not(target_arch = "wasm32"))]
pub use resume_file::ResumeFile;
pub use resume_file::{Resume, Save};
pub use sweep::{Scratch, standing};
