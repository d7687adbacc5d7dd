//! A prompt continued by a model and by the same model with some blocks linear: worker replies in, display data out.
//!
//! Reading order: `block_list.rs`, what is known of the blocks; `ask.rs`, the request; `state.rs`, the continuation;
//! `wording.rs` and `figure.rs`, its display; `recorded.rs`, texts that are known without the engine.

mod ask;
mod block_list;
mod figure;
mod recorded;
mod state;
mod wording;

pub use ask::{Ask, Linear};
pub use block_list::BlockList;
pub use figure::figure;
pub use recorded::{RecordedPair, RecordedPlace, extent, recorded, recorded_path};
pub use state::ContinuationState;
#[cfg(test)]
pub(crate) use state::tests;
pub use wording::{
    CandidateRow, about, bar, candidates, fit_kept, heading, label, most, ordered, outcome, percent, place, sampling,
    stale, status,
};
