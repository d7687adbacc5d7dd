//! Published figures of a few models, for overlays and comparisons.
//!
//! They are fetched only once a model that may be among them was measured or is compared.

pub use straightedge_api::published::{CORPORA, MODELS, Published, PublishedModel, SURVEY, may_have};

/// The file, relative to the page.
pub const PUBLISHED: &str = "data/published.json";
