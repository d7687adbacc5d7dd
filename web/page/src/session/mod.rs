//! The page's state, and the actions of its buttons.
//!
//! `state/` holds all signals in parts, each with the methods that need it alone. Every other file is a group of actions
//! on several parts, but for `browser.rs`.
//! Reading order, in which each uses only those before it: `browser.rs`, `state/`, `show.rs`, `preview.rs`, `sources.rs`,
//! `reports.rs`, `compare.rs`, `choose.rs`, `atlas.rs`, `history.rs`, `measure.rs`, `repeat.rs`, `continuation.rs`, `guide.rs`,
//! `address.rs`, `shared.rs`, `open.rs`.

mod address;
mod atlas;
mod browser;
mod choose;
mod compare;
mod continuation;
mod guide;
mod history;
mod measure;
mod open;
mod preview;
mod repeat;
mod reports;
mod shared;
mod show;
mod sources;
mod state;

pub(crate) use browser::now;
pub(crate) use state::{Choices, Compared, Continued, Definition, Display, Engine, Guide, Results, Session};
