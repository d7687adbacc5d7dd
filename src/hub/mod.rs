//! Models and texts from the Hugging Face hub or a mirror of it, for the page and the command line alike.
//!
//! In reading order: [`id`] names a repository; [`preflight`] is what is told before anything large is fetched, as
//! plain data. With the engine: `http` is what a platform must be able to do, `store` where it keeps the bytes of a `repo`; `listing`
//! resolves an id to a commit with its files, `plan` says which byte ranges a model needs, `download` brings them into
//! the store whatever the network does, and `files` is the result as a source of [`crate::weights::Files`].

pub mod id;
pub mod preflight;

#[cfg(feature = "engine")]
pub mod client;
#[cfg(feature = "cli")]
pub mod disk;
#[cfg(feature = "engine")]
mod download;
#[cfg(feature = "engine")]
pub mod fallback;
#[cfg(feature = "engine")]
pub mod files;
#[cfg(feature = "engine")]
pub mod http;
#[cfg(feature = "engine")]
pub mod listing;
#[cfg(feature = "engine")]
pub mod plan;
#[cfg(feature = "engine")]
pub mod repo;
#[cfg(feature = "engine")]
pub mod store;
#[cfg(feature = "engine")]
mod survey;
#[cfg(feature = "engine")]
pub mod text;
#[cfg(feature = "cli")]
pub mod transport;
