//! The model continues a prompt, side by side with the same model with some blocks linear. Start reading at `view.rs`,
//! which combines the other files.

mod detail;
mod flow;
mod form;
mod recorded;
mod spot;
mod view;

pub(super) use view::ContinuationState;
