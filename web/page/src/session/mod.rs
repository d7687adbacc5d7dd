//! The page's state, and the actions of its buttons.
//!
//! `state.rs` holds all signals, `handles.rs` the user's files, and `history_state.rs` the kept results. Every other file is a group of actions on them.
//! Reading order, in which each uses only those before it: `browser.rs`, `show.rs`, `preview.rs`, `sources.rs`,
//! `reports.rs`, `compare.rs`, `choose.rs`, `atlas.rs`, `history.rs`, `measure.rs`, `repeat.rs`, `continuation.rs`, `guide.rs`,
//! `address.rs`, `shared.rs`, `open.rs`.

mod address;
mod atlas;
mod browser;
mod choose;
mod compare;
mod continuation;
mod guide;
mod handles;
mod history;
mod history_state;
mod measure;
mod open;
mod preview;
mod repeat;
mod reports;
mod shared;
mod show;
mod sources;
mod state;

pub(crate) use compare::has_profile;
pub(crate) use state::{Definition, Session};
