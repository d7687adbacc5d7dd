//! Models and texts from the Hugging Face hub or a mirror of it, for the page and the command line alike.
//!
//! In reading order: [`id`] names a repository; [`preflight`] is what is told before anything large is fetched, as
//! plain data; `http` is what a platform must be able to do, `store` where it keeps the bytes of a `repo`; `listing`
//! resolves an id to a commit with its files, `plan` says which byte ranges a model needs, `download` brings them into
//! the store whatever the network does, and `files` is the result as a source of [`crate::weights::Files`].

pub mod client;
#[cfg(feature = "cli")]
pub mod disk;
mod download;
pub mod fallback;
pub mod files;
pub mod http;
pub mod listing;
pub mod plan;
pub mod repo;
pub mod store;
mod survey;
pub mod text;
#[cfg(feature = "cli")]
pub mod transport;

pub use straightedge_api::hub::{id, preflight};
