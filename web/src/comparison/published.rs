//! Figures published about a few models, to be laid over what is measured here.
//!
//! They are fetched only once a model that could be among them has been measured, or is compared.

pub use straightedge_api::published::{CORPORA, MODELS, Published, PublishedModel, SURVEY, may_have};

/// The file, relative to the page.
pub const PUBLISHED: &str = "data/published.json";
