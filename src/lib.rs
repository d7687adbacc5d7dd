//! Straightedge measures how linear each feed-forward block of a transformer is.
//!
//! The route, in reading order: a [`job::Job`] goes in, [`run::measure`] runs it, a stream of [`event::Event`]s comes
//! out, and the [`event::Recorder`] adds them up to a [`report::Report`]. This plain data is the crate
//! `straightedge-api`, whose modules stand here too.

pub mod backend;
pub mod corpus;
pub mod forward;
pub mod hub;
pub mod model;
pub mod platform;
pub mod replacement;
pub mod run;
pub mod solve;
pub mod stats;
pub mod training;
pub mod weights;
pub mod workers;

pub use straightedge_api::{
    agreement, atlas, bundled, continuation, cost, date, difference, error, event, extent, job, published, report,
    summary, thirds, trace, transcript,
};
