//! A prompt continued by a model and by the same model with some blocks linear, as plain data.
//!
//! Each model continues its own text. At every step their next-token distributions are compared after the same context,
//! the original model's text, so that the divergence has one meaning throughout.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::report::DeviceInfo;

/// The settings besides the job; the job gives the linear blocks, and the text and protocol of their maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    /// The prompt of both models, without special tokens.
    pub prompt: String,
    /// Tokens to add; fewer if the context is full.
    pub tokens: usize,
    /// 0 takes the likeliest token at every step; above 0, tokens are drawn from softmax(logits / temperature).
    pub temperature: f64,
    /// Seed of the draws. Both models get the same random numbers, so equal distributions give equal texts.
    pub seed: u64,
    /// Most likely tokens reported per distribution and step.
    pub top: usize,
}

impl Continuation {
    /// Upper limit of `tokens`.
    pub const MAX_TOKENS: usize = 1000;
    /// Upper limit of the temperature: beyond it hardly anything of the model is left.
    pub const MAX_TEMPERATURE: f64 = 10.0;
    /// Upper limit of `top`.
    pub const MAX_TOP: usize = 10;

    /// 40 tokens, the likeliest at every step.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), tokens: 40, temperature: 0.0, seed: 0, top: 5 }
    }

    /// Refuses settings outside their range.
    pub fn check(&self) -> Result<()> {
        let refuse =
            |field: &str, value: String, hint: String| Err(Error::InvalidSetting { field: field.into(), value, hint });
        if self.prompt.is_empty() {
            return refuse("--prompt", "nothing".into(), "give some words for both models to continue".into());
        }
        if !(1..=Self::MAX_TOKENS).contains(&self.tokens) {
            return refuse("--tokens", self.tokens.to_string(), format!("choose 1 to {}", Self::MAX_TOKENS));
        }
        if !(0.0..=Self::MAX_TEMPERATURE).contains(&self.temperature) {
            let hint = format!("choose 0, which takes the most likely token, up to {}", Self::MAX_TEMPERATURE);
            return refuse("--temperature", self.temperature.to_string(), hint);
        }
        if !(1..=Self::MAX_TOP).contains(&self.top) {
            return refuse("--top", self.top.to_string(), format!("choose 1 to {}", Self::MAX_TOP));
        }
        Ok(())
    }
}

/// A value of the original model and of the one with linear blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Both<T> {
    /// Of the original model.
    pub original: T,
    /// Of the model with linear blocks.
    pub linear: T,
}

/// What is known after both models have read the prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The model's name in the job.
    pub model: String,
    /// Blocks that are linear, ascending.
    pub blocks: Vec<usize>,
    /// Blocks of the model.
    pub num_hidden_layers: usize,
    /// The device.
    pub device: DeviceInfo,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Context length used, prompt included.
    pub context: usize,
    /// Perplexity of the prompt; null for a single token.
    pub ppl: Both<Option<f64>>,
}

/// A token and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Its name for display: its characters, or its bytes such as `0xE2 0x80` if they are not valid UTF-8.
    pub name: String,
    /// The text it adds; empty while a character is incomplete, which a later token then adds.
    pub text: String,
}

/// A token that might come next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its id.
    pub id: u32,
    /// As [`Token::name`].
    pub name: String,
    /// Its probability under each model; null if not computed.
    pub probability: Both<Option<f64>>,
}

/// One step: one more token in both texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number from 0.
    pub step: usize,
    /// The chosen tokens.
    pub token: Both<Token>,
    /// KL(original ‖ linear) = Σ p·ln(p/q) in nats between the distributions after the original's text; at least 0.
    pub kl: f64,
    /// −Σ p·ln p in nats, after the original's text.
    pub entropy: Both<f64>,
    /// The likeliest tokens of either distribution after the original's text, sorted by the original model.
    pub candidates: Vec<Candidate>,
    /// The linear model's likeliest tokens after its own text, once the texts differ.
    pub own: Vec<Candidate>,
}

impl Step {
    /// Whether both texts get the same token.
    pub fn is_same(&self) -> bool {
        self.token.original.id == self.token.linear.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_their_range_are_named() {
        let usual = Continuation::new("A");
        assert!(usual.check().is_ok());
        let wrong = [
            (Continuation::new(""), "--prompt"),
            (Continuation { tokens: 0, ..usual.clone() }, "--tokens"),
            (Continuation { tokens: 1001, ..usual.clone() }, "--tokens"),
            (Continuation { temperature: -0.1, ..usual.clone() }, "--temperature"),
            (Continuation { temperature: f64::NAN, ..usual.clone() }, "--temperature"),
            (Continuation { top: 0, ..usual.clone() }, "--top"),
            (Continuation { top: 11, ..usual }, "--top"),
        ];
        for (settings, name) in wrong {
            let refused = settings.check();
            assert!(matches!(&refused, Err(Error::InvalidSetting { field, .. }) if field == name), "{refused:?}");
        }
    }
}
