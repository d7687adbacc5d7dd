//! The supported values of `model_type`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fields::Fields;
use crate::error::{Error, Result};

/// Supported values of `model_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// `gpt2`.
    Gpt2,
    /// `gpt_neo`.
    GptNeo,
    /// `gpt_neox`.
    GptNeox,
    /// `opt`.
    Opt,
    /// `bloom`.
    Bloom,
    /// `llama`.
    Llama,
    /// `mistral`.
    Mistral,
    /// `qwen2`.
    Qwen2,
    /// `qwen3`.
    Qwen3,
    /// `phi`.
    Phi,
    /// `gemma`.
    Gemma,
    /// `gemma2`.
    Gemma2,
    /// `gemma3_text`.
    Gemma3,
    /// `bert`.
    Bert,
    /// `roberta`.
    Roberta,
    /// `distilbert`.
    Distilbert,
    /// `modernbert`.
    Modernbert,
}

/// Suffixes that may follow a family's prefix in `architectures`; `Qwen2MoeForCausalLM` is another family.
const CLASS_ENDINGS: [&str; 5] = ["Model", "LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForPreTraining"];

impl Architecture {
    const ALL: [Self; 17] = [
        Self::Gpt2,
        Self::GptNeo,
        Self::GptNeox,
        Self::Opt,
        Self::Bloom,
        Self::Llama,
        Self::Mistral,
        Self::Qwen2,
        Self::Qwen3,
        Self::Phi,
        Self::Gemma,
        Self::Gemma2,
        Self::Gemma3,
        Self::Bert,
        Self::Roberta,
        Self::Distilbert,
        Self::Modernbert,
    ];

    /// The family from `model_type`, or from `architectures` in old configurations without `model_type`.
    pub(super) fn of(fields: &Fields) -> Result<Self> {
        match fields.text("model_type")? {
            Some(name) => Self::ALL
                .into_iter()
                .find(|known| known.name() == name)
                .ok_or_else(|| Error::UnknownArchitecture { found: name.into() }),
            None => Self::from_class(fields),
        }
    }

    fn from_class(fields: &Fields) -> Result<Self> {
        let class = fields.first_text("architectures")?.ok_or(Error::MissingField { field: "model_type".into() })?;
        Self::ALL
            .into_iter()
            .find(|known| class.strip_prefix(known.class_prefix()).is_some_and(|rest| CLASS_ENDINGS.contains(&rest)))
            .ok_or_else(|| Error::UnknownArchitecture { found: class.into() })
    }

    /// The value of `model_type`.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    const fn class_prefix(self) -> &'static str {
        self.names().1
    }

    /// `model_type`, and the prefix of class names in `architectures`.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Gpt2 => ("gpt2", "GPT2"),
            Self::GptNeo => ("gpt_neo", "GPTNeo"),
            Self::GptNeox => ("gpt_neox", "GPTNeoX"),
            Self::Opt => ("opt", "OPT"),
            Self::Bloom => ("bloom", "Bloom"),
            Self::Llama => ("llama", "Llama"),
            Self::Mistral => ("mistral", "Mistral"),
            Self::Qwen2 => ("qwen2", "Qwen2"),
            Self::Qwen3 => ("qwen3", "Qwen3"),
            Self::Phi => ("phi", "Phi"),
            Self::Gemma => ("gemma", "Gemma"),
            Self::Gemma2 => ("gemma2", "Gemma2"),
            Self::Gemma3 => ("gemma3_text", "Gemma3"),
            Self::Bert => ("bert", "Bert"),
            Self::Roberta => ("roberta", "Roberta"),
            Self::Distilbert => ("distilbert", "DistilBert"),
            Self::Modernbert => ("modernbert", "ModernBert"),
        }
    }

    /// Whether its norms are RMSNorm instead of LayerNorm.
    pub const fn has_rms_norm(self) -> bool {
        use Architecture::{Gemma, Gemma2, Gemma3, Llama, Mistral, Qwen2, Qwen3};
        matches!(self, Llama | Mistral | Qwen2 | Qwen3 | Gemma | Gemma2 | Gemma3)
    }

    /// Whether its models predict nothing sensible unless the text begins with the beginning-of-sequence token.
    pub const fn needs_bos(self) -> bool {
        matches!(self, Self::Gemma | Self::Gemma2 | Self::Gemma3)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
