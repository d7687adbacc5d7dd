//! A prompt that a model and the same model with some blocks linear go on with, side by side, as plain data.
//!
//! Each goes on in its own text. At every step their distributions over the next token are compared after one and the
//! same text, the original model's, so that the divergence between them means one thing throughout.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::report::DeviceInfo;

/// What is asked for beside the job, whose blocks are the linear ones and whose text and protocol their maps come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    /// What both models read first, without special tokens.
    pub prompt: String,
    /// Tokens to add; fewer where the model has no more positions.
    pub tokens: usize,
    /// 0 takes the likeliest token at every step; above, tokens are drawn from softmax(logits / temperature).
    pub temperature: f64,
    /// Seed of the draws. Both models get the same ones, so that equal distributions give equal texts.
    pub seed: u64,
    /// Tokens of each distribution that every step tells of, the likeliest first.
    pub top: usize,
}

impl Continuation {
    /// Most tokens that are added.
    pub const MAX_TOKENS: usize = 1000;
    /// Highest temperature: beyond it hardly anything of the model is left.
    pub const MAX_TEMPERATURE: f64 = 10.0;
    /// Most tokens of a distribution that are told of.
    pub const MAX_TOP: usize = 10;

    /// Forty tokens after a prompt, the likeliest at every step.
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

/// Something of the original model beside the same of the one with linear blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Both<T> {
    /// Of the model as it is.
    pub original: T,
    /// Of the model with the chosen blocks linear.
    pub linear: T,
}

/// What is known once both have read the prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The model, as the job calls it.
    pub model: String,
    /// Blocks that are linear, ascending.
    pub blocks: Vec<usize>,
    /// Blocks of the model.
    pub num_hidden_layers: usize,
    /// Where it is computed.
    pub device: DeviceInfo,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Most tokens of a text, prompt included.
    pub context: usize,
    /// Perplexity of the prompt's tokens after its first; null of a single one.
    pub ppl: Both<Option<f64>>,
}

/// A token, and what it does to the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// What it is called by itself: its characters, or its bytes as `0xE2 0x80` where they are none.
    pub name: String,
    /// What it adds to its text: nothing while a character is incomplete, which a later token then adds.
    pub text: String,
}

/// A token that might come next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its id.
    pub id: u32,
    /// As [`Token::name`].
    pub name: String,
    /// How likely each model takes it to be; null of a model that was not asked.
    pub probability: Both<Option<f64>>,
}

/// One step: a token more in both texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number from 0.
    pub step: usize,
    /// The tokens, each in its own text.
    pub token: Both<Token>,
    /// KL(original ‖ linear) = Σ p·ln(p/q) in nats between the distributions after the original's text; at least 0.
    pub kl: f64,
    /// −Σ p·ln p in nats, after the original's text.
    pub entropy: Both<f64>,
    /// The likeliest tokens of either distribution after the original's text, as the original model orders them.
    pub candidates: Vec<Candidate>,
    /// Where the texts have parted: the linear model's likeliest tokens after its own.
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
        for (asked, name) in wrong {
            let refused = asked.check();
            assert!(matches!(&refused, Err(Error::InvalidSetting { field, .. }) if field == name), "{refused:?}");
        }
    }
}
