//! The state of the page in parts, each with one purpose; actions that need several of them are in the files above.
//!
//! A part has the methods that need it alone. `preview.rs` and `handles.rs` belong to `choices.rs`.

mod choices;
mod compared;
mod continued;
mod display;
mod engine;
mod guide;
mod handles;
mod history;
mod preview;
mod results;

pub(crate) use choices::Choices;
pub(crate) use compared::Compared;
pub(crate) use continued::Continued;
pub(crate) use display::{Definition, Display};
pub(crate) use engine::Engine;
pub(crate) use guide::Guide;
pub(super) use history::Current;
pub(crate) use history::History;
pub(super) use results::Ordered;
pub(crate) use results::Results;

/// The state of the page. Copies are handles to the same state, as are those of its parts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Session {
    /// What to measure.
    pub(crate) choices: Choices,
    /// What measures it.
    pub(crate) engine: Engine,
    /// What was measured.
    pub(crate) results: Results,
    /// What of it is in view.
    pub(crate) display: Display,
    /// What it is compared with.
    pub(crate) compared: Compared,
    /// A prompt continued by the chosen model.
    pub(crate) continued: Continued,
    /// The lesson.
    pub(crate) guide: Guide,
    /// The results kept in the browser.
    pub(crate) history: History,
}
