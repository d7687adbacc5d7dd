//! Trains the demo models: small decoders of three families on the engine's synthetic texts.
//!
//! In reading order: a [`recipe::Recipe`] describes a training; [`tokenizer`] and [`text`] make its batches;
//! [`trainer`] runs the steps with the engine's forward pass over candle's variables, on the chosen [`device`];
//! [`state`] allows a run to stop and resume; [`folder`] writes the result in Hugging Face layout.

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
