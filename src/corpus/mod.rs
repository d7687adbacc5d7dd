//! The text of a measurement: synthetic or given, as tokens, windows and folds (docs/measures.md, section 1).

mod charsmap;
mod cuts;
mod pieces;
pub mod synthetic;
mod tokenizer_check;
mod tokens;
mod windows;

pub use pieces::Pieces;
pub use tokens::{Tokenizer, check_ids, parse_token_ids};
pub use windows::{Folds, TokenWindows};
