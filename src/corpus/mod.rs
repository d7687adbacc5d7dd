//! The text of a measurement: synthetic or given, as tokens, windows and folds (docs/measures.md, section 1).

mod charsmap;
mod cuts;
mod guard;
mod incremental_decoder;
mod pattern_check;
mod pattern_lexemes;
mod properties;
mod sentencepiece;
mod special_tokens;
pub mod synthetic;
mod tokenizer_check;
mod tokenizer_files;
mod tokens;
mod vocabularies;
mod windows;

pub use guard::tokenizer_panic;
pub use incremental_decoder::IncrementalDecoder;
pub use properties::{Properties, Property};
pub use tokenizer_files::{TOKENIZER_KINDS, check_tokenizer_size, tokenizer_files};
pub use tokens::{Tokenizer, check_ids, parse_token_ids};
pub use vocabularies::special_token;
pub use windows::{Folds, TokenWindows};
