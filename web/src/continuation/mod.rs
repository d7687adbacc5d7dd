//! A prompt continued by a model and by the same model with some blocks linear: replies of the worker go in, what can
//! be shown comes out.
//!
//! To be read in this order: `known.rs`, what is known of the blocks; `ask.rs`, what is asked for; `state.rs`, the
//! continuation itself; `told.rs` and `figure.rs`, how it is told.

mod ask;
mod figure;
mod known;
mod state;
mod told;

pub use ask::{Ask, Linear};
pub use figure::figure;
pub use known::Known;
pub use state::Sides;
#[cfg(test)]
pub(crate) use state::tests;
pub use told::{
    Line, about, bar, candidates, fit_kept, heading, label, most, ordered, outcome, percent, place, sampling, stale,
    status,
};
