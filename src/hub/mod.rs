//! Models and texts from the Hugging Face hub or a mirror, for the page and the command line.
//!
//! In reading order: [`id`] names a repository; [`preflight`] is the plain data shown before anything large is fetched;
//! `http` is the network interface of a platform, `store` its storage for the bytes of a `repo`; `client` sends requests,
//! each within the limits of `timer`, and again as `retry` decides; `listing` resolves an id to a commit with its files,
//! which `visit` remembers and `step` compares with other revisions; `plan` chooses the byte ranges a model needs,
//! `download` fetches them into the store, and `files` offers the result as [`crate::weights::Files`].

pub mod client;
mod conversion;
#[cfg(feature = "cli")]
pub mod disk;
mod download;
pub mod fallback;
pub mod files;
pub mod http;
pub mod listing;
pub mod plan;
pub mod repo;
mod retry;
mod step;
pub mod store;
mod survey;
pub mod text;
mod timer;
#[cfg(feature = "cli")]
pub mod transport;
pub mod visit;

pub use straightedge_api::hub::{id, preflight};
