//! Straightedge measures how linear each feed-forward block of a transformer is.
//!
//! In reading order: [`run::measure`] runs a [`job::Job`] and emits [`event::Event`]s, which the [`event::Recorder`]
//! collects into a [`report::Report`]. These plain data types live in the crate `straightedge-api`, whose modules are
//! re-exported here.

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
    agreement, atlas, baseline, bundled, continuation, corpus_size, cost, date, degrees, difference, error, event,
    fields, job, learning, paired, precision, probes, published, report, summary, thirds, trace, transcript, visible,
};
