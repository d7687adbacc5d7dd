//! Names on the Hugging Face hub, and the preview of a model there before anything large is fetched.

pub mod id;
mod pasted;
pub mod preflight;
