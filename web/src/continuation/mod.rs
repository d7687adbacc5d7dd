//! A prompt continued by a model and by the same model with some blocks linear: replies of the worker go in, what can
//! be shown comes out.
//!
//! To be read in this order: `known.rs`, what is known of the blocks; `ask.rs`, what is asked for; `state.rs`, the
//! continuation itself; `told.rs` and `figure.rs`, how it is told.

mod ask;
mod block_list;
mod figure;
mod state;
mod wording;

pub use ask::{Ask, Linear};
pub use block_list::BlockList;
pub use figure::figure;
pub use state::ContinuationState;
#[cfg(test)]
pub(crate) use state::tests;
pub use wording::{
    CandidateRow, bar, candidates, heading, label, most, ordered, outcome, percent, place, sampling, status,
};
