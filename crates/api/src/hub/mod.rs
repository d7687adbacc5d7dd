//! Names on the Hugging Face hub, and what is known of a model there before anything large is fetched.

pub mod id;
pub mod preflight;
