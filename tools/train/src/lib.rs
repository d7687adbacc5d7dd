//! Trains the demo models: small decoders of three families on texts that the engine makes.
//!
//! In reading order: a [`recipe::Recipe`] says what is trained and how; [`tokenizer`] and [`text`] make its batches;
//! [`trainer`] steps through them with the engine's one forward pass over candle's variables, on the [`device`] there
//! is; [`state`] lets a run stop and go on; [`folder`] writes the result as others read it.

pub mod backend;
pub mod card;
pub mod device;
pub mod folder;
mod fused;
mod op;
pub mod recipe;
pub mod record;
pub mod run;
pub mod state;
pub mod text;
pub mod tokenizer;
pub mod trainer;
