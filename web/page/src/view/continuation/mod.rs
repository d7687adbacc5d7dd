//! The model goes on with a prompt, and beside it the same model with some blocks linear. To be read from `view.rs`,
//! which puts the others together.

mod ask;
mod detail;
mod flow;
mod spot;
mod view;

pub(super) use view::ContinuationState;
