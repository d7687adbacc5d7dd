//! Where a checkpoint keeps the feed-forward network of a layer, for those who write checkpoints.

use super::{Architecture, ModelConfig};
use crate::weights::Weights;

/// Names of a family's layers in one checkpoint.
#[derive(Clone, Debug)]
pub struct Places {
    family: &'static Family,
    /// Empty where the checkpoint drops the family's prefix.
    prefix: &'static str,
}

/// Checkpoint names of one feed-forward network, without `.weight` and `.bias`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FfnPlace {
    /// The gate of a gated network.
    pub gate: Option<String>,
    /// The up projection.
    pub up: String,
    /// The down projection.
    pub down: String,
    /// Whether weights are stored `(in, out)` as GPT-2 does, not `(out, in)`.
    pub inputs_first: bool,
}

/// The spelling of a family.
#[derive(Debug)]
struct Family {
    prefix: &'static str,
    /// A tensor that tells whether the prefix is there.
    probe: &'static str,
    layers: &'static str,
    gate: Option<&'static str>,
    up: &'static str,
    down: &'static str,
    attention_output: &'static str,
    inputs_first: bool,
}

const GPT2: Family = Family {
    prefix: "transformer.",
    probe: "wte.weight",
    layers: "h",
    gate: None,
    up: "mlp.c_fc",
    down: "mlp.c_proj",
    attention_output: "attn.c_proj",
    inputs_first: true,
};

const GPT_NEOX: Family = Family {
    prefix: "gpt_neox.",
    probe: "embed_in.weight",
    layers: "layers",
    gate: None,
    up: "mlp.dense_h_to_4h",
    down: "mlp.dense_4h_to_h",
    attention_output: "attention.dense",
    inputs_first: false,
};

const LLAMA: Family = Family {
    prefix: "model.",
    probe: "embed_tokens.weight",
    layers: "layers",
    gate: Some("mlp.gate_proj"),
    up: "mlp.up_proj",
    down: "mlp.down_proj",
    attention_output: "self_attn.o_proj",
    inputs_first: false,
};

const BERT: Family = Family {
    prefix: "bert.",
    probe: "embeddings.word_embeddings.weight",
    layers: "encoder.layer",
    gate: None,
    up: "intermediate.dense",
    down: "output.dense",
    attention_output: "attention.output.dense",
    inputs_first: false,
};

impl Places {
    /// The names in `weights` of a model of this configuration.
    pub fn new(config: &ModelConfig, weights: &Weights) -> Self {
        let family = match config.architecture {
            Architecture::Gpt2 => &GPT2,
            Architecture::GptNeox => &GPT_NEOX,
            Architecture::Llama | Architecture::Mistral | Architecture::Qwen2 => &LLAMA,
            Architecture::Bert => &BERT,
        };
        let prefix = if weights.has(&format!("{}{}", family.prefix, family.probe)) { family.prefix } else { "" };
        Self { family, prefix }
    }

    /// The feed-forward network of a layer.
    pub fn ffn(&self, layer: usize) -> FfnPlace {
        FfnPlace {
            gate: self.family.gate.map(|gate| self.name(layer, gate)),
            up: self.name(layer, self.family.up),
            down: self.name(layer, self.family.down),
            inputs_first: self.family.inputs_first,
        }
    }

    /// The output projection of a layer's attention.
    pub fn attention_output(&self, layer: usize) -> String {
        self.name(layer, self.family.attention_output)
    }

    fn name(&self, layer: usize, part: &str) -> String {
        format!("{}{}.{layer}.{part}", self.prefix, self.family.layers)
    }
}
