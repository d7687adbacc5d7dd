//! Models and texts from the Hugging Face hub or a mirror of it, for the page and the command line alike.
//!
//! In reading order: [`id`] names a repository; [`preflight`] is what is told before anything large is fetched, as
//! plain data. With the engine: `http` is what a platform must be able to do, `store` where it keeps bytes; `listing`
//! resolves an id to a commit with its files, `plan` says which byte ranges a model needs, `download` brings them into
//! the store whatever the network does, and `files` is the result as a source of [`crate::weights::Files`].

#[cfg(feature = "engine")]
pub mod http;
pub mod id;
#[cfg(feature = "engine")]
pub mod listing;
pub mod preflight;
#[cfg(feature = "engine")]
pub mod store;
