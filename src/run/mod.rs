//! Runs a job and reports events; this module connects all others.
//!
//! In reading order: `inputs` holds a job's inputs, `borrowed_tokenizer` joins two models' files; `measure` starts it;
//! `prepared` is everything known before a device is chosen, `text_reader` cuts its texts into windows; `pass` is one
//! measurement on a device; `sweep` takes all rows through block after block, where `measures` evaluate them; `heal` and
//! `continuation` need the whole model.

mod borrowed_tokenizer;
mod bos;
mod continuation;
mod corpus_size;
mod cross_feed;
mod device;
pub mod evaluation;
mod events;
mod header;
mod heal;
mod heal_together;
mod inputs;
mod map_cache;
mod measure;
mod measures;
mod memory;
mod pass;
mod prepared;
mod resume_file;
mod stops;
mod sweep;
mod text_reader;
mod tokenizer;

pub use borrowed_tokenizer::BorrowedTokenizer;
pub use continuation::{MapSource, continuation};
pub use corpus_size::{extent, rows_extent};
pub use events::Events;
pub use inputs::{Inputs, RowsInputs, Text};
pub use map_cache::MapCache;
pub use measure::{fit, measure, measure_inputs};
#[cfg(not(target_arch = "wasm32"))]
pub use resume_file::ResumeFile;
pub use resume_file::{Resume, Save};
pub use sweep::{ScratchFile, read_blocks, standing};
