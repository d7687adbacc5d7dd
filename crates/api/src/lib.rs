//! Plain data exchanged between the engine, the page and files on disk.
//!
//! A [`job::Job`] goes in, a stream of [`event::Event`]s comes out, and the [`event::Recorder`] adds them up to a
//! [`report::Report`]. The page links this crate and not the engine.

pub mod agreement;
pub mod atlas;
pub mod baseline;
pub mod bundled;
pub mod continuation;
pub mod corpus_size;
pub mod cost;
pub mod date;
pub mod degrees;
pub mod difference;
pub mod error;
pub mod event;
pub mod fields;
pub mod hub;
pub mod job;
pub mod learning;
pub mod message;
pub mod paired;
pub mod precision;
pub mod probes;
pub mod progress;
pub mod published;
pub mod recorded_texts;
pub mod report;
pub mod sentences;
pub mod summary;
pub mod thirds;
pub mod trace;
pub mod transcript;
pub mod visible;
