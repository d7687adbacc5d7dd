//! The text of a measurement: made or given, tokens, windows and folds (docs/measures.md, section 1).

pub mod made;
mod pieces;
mod tokens;
mod windows;

pub use pieces::Pieces;
pub use tokens::{Tokenizer, check_ids, parse_token_ids};
pub use windows::{Folds, TokenWindows};
