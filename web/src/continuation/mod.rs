//! A prompt continued by a model and by the same model with some blocks linear: worker replies in, display data out.
//!
//! Reading order: `block_list.rs` holds the known blocks, `form.rs` the settings as typed, `state.rs` the continuation;
//! `wording.rs` and `figure.rs` display it; `recorded.rs` finds recorded texts, which need no engine.

mod block_list;
mod figure;
mod form;
mod recorded;
mod state;
mod wording;

pub use block_list::BlockList;
pub use figure::figure;
pub use form::{ContinuationForm, Linear};
pub use recorded::{RecordedPair, RecordedPlace, extent, recorded, recorded_path};
pub use state::ContinuationState;
#[cfg(test)]
pub(crate) use state::tests;
pub use wording::{
    CandidateRow, about, bar, candidates, fit_kept, heading, label, most, ordered, outcome, percent, place, sampling,
    stale, status,
};
