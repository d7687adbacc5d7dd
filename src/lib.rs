//! Straightedge measures how linear each feed-forward block of a transformer is.
//!
//! The route, in reading order: a [`job::Job`] goes in, a stream of [`event::Event`]s comes out, and the
//! [`event::Recorder`] sums them up to a [`report::Report`]. Without the `engine` feature the crate is only these
//! plain-data types, which is all that the page needs.

pub mod agreement;
pub mod atlas;
pub mod bundled;
pub mod continuation;
pub mod cost;
pub mod difference;
pub mod error;
pub mod event;
pub mod extent;
pub mod hub;
pub mod job;
pub mod published;
pub mod report;
pub mod summary;
pub mod thirds;
pub mod trace;
pub mod transcript;

#[cfg(feature = "engine")]
pub mod adamw;
#[cfg(feature = "engine")]
pub mod backend;
#[cfg(feature = "engine")]
pub mod corpus;
#[cfg(feature = "engine")]
pub mod cpu;
#[cfg(feature = "engine")]
pub mod device_map;
#[cfg(feature = "engine")]
pub mod digest;
#[cfg(feature = "engine")]
pub mod evaluation;
#[cfg(feature = "engine")]
pub mod export;
#[cfg(feature = "engine")]
pub mod forward;
#[cfg(feature = "engine")]
pub mod gpu;
#[cfg(feature = "engine")]
pub mod heal;
#[cfg(feature = "engine")]
pub mod model;
#[cfg(feature = "engine")]
pub mod moments;
#[cfg(feature = "engine")]
pub mod next_token;
#[cfg(feature = "engine")]
mod outlier_rows;
#[cfg(feature = "engine")]
mod parallel;
#[cfg(feature = "engine")]
pub mod pause;
#[cfg(feature = "engine")]
pub mod probe;
#[cfg(feature = "engine")]
pub mod random;
#[cfg(feature = "engine")]
pub mod run;
#[cfg(feature = "engine")]
pub mod solve;
#[cfg(feature = "engine")]
pub mod sums;
#[cfg(feature = "engine")]
pub mod swap;
#[cfg(feature = "engine")]
pub mod weights;
#[cfg(feature = "engine")]
pub mod workers;
