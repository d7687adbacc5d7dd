//! The recipe of a run: everything it depends on besides the code.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use straightedge::corpus::synthetic::Domain;

/// A family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Learned positions, LayerNorm, GELU.
    Gpt2,
    /// Rotary positions, LayerNorm, GELU, attention and network in parallel.
    GptNeox,
    /// Rotary positions, RMSNorm, SwiGLU.
    Llama,
}

/// Everything one run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Folder of the model, and its identifier in reports.
    pub name: String,
    /// Architecture.
    pub family: Family,
    /// Seed of the initial weights, unless it is fine-tuned, and of the text.
    pub seed: u64,
    /// Steps of the whole schedule.
    pub steps: usize,
    /// λ of the regulariser λ·Σ_ℓ (1 − cos(h_ℓ, h_ℓ₋₁)) of arXiv 2405.12250; 0 leaves it out.
    pub cosine_penalty: f64,
    /// λ of the regulariser λ·Σ_ℓ ‖h_ℓ − h_ℓ₋₁‖² of the same paper, averaged over features; 0 leaves it out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mse_penalty: f64,
    /// Width, depth and window.
    pub size: Size,
    /// Optimiser and schedule.
    pub schedule: Schedule,
    /// Where it begins and what it reads, if not from drawn weights and all texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuning: Option<FineTuning>,
}

/// Whether a regulariser is left out, and then from the record too.
fn is_zero(penalty: &f64) -> bool {
    *penalty == 0.0
}

/// Training of a finished demo model on one domain of text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FineTuning {
    /// Name of the model.
    pub base: String,
    /// Name of the domain.
    pub domain: String,
}

/// Sizes shared by all demo models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Entries of the tokenizer.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Attention heads.
    pub num_attention_heads: usize,
    /// Tokens per window.
    pub seq_len: usize,
    /// Standard deviation of initial weights.
    pub initializer_range: f64,
}

/// AdamW with a warm-up and a cosine schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Windows per step, as many from each domain.
    pub windows: usize,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Lowest learning rate, at the end, as a share of the highest.
    pub final_share: f64,
    /// Steps up to the highest learning rate.
    pub warmup_steps: usize,
    /// β₁ and β₂.
    pub betas: (f64, f64),
    /// Weight decay of matrices.
    pub weight_decay: f64,
    /// Gradients are clipped to this global norm.
    pub max_gradient_norm: f64,
}

impl Schedule {
    /// The learning rate of step `step` of `steps`, counted from 0.
    pub fn learning_rate(&self, step: usize, steps: usize) -> f64 {
        if step < self.warmup_steps {
            return self.learning_rate * (step + 1) as f64 / self.warmup_steps as f64;
        }
        let done = (step - self.warmup_steps) as f64 / (steps - self.warmup_steps).max(1) as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
        self.learning_rate * (self.final_share + (1.0 - self.final_share) * cosine)
    }
}

/// A run of the demo set.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The recipe.
    pub recipe: Recipe,
    /// Steps before which a checkpoint is written.
    pub checkpoints: Vec<usize>,
}

impl Plan {
    /// The demo set.
    pub fn all() -> Vec<Self> {
        let plan = |name: &str, family, seed, cosine_penalty| Self {
            recipe: Recipe {
                name: name.into(),
                family,
                seed,
                steps: STEPS,
                cosine_penalty,
                mse_penalty: 0.0,
                size: Size::demo(),
                schedule: Schedule::demo(),
                fine_tuning: None,
            },
            checkpoints: Vec::new(),
        };
        let watched = Self { checkpoints: CHECKPOINTS.into(), ..plan("demo-gpt2", Family::Gpt2, 1, 0.0) };
        vec![
            watched,
            plan("demo-llama", Family::Llama, 1, 0.0),
            plan("demo-gpt2-cosine", Family::Gpt2, 1, COSINE_PENALTY),
            Self {
                recipe: Recipe { mse_penalty: MSE_PENALTY, ..plan("demo-gpt2-mse", Family::Gpt2, 1, 0.0).recipe },
                checkpoints: Vec::new(),
            },
            plan("demo-neox", Family::GptNeox, 1, 0.0),
            plan("demo-gpt2-seed2", Family::Gpt2, 2, 0.0),
            Self {
                recipe: Recipe {
                    steps: TUNING_STEPS,
                    schedule: Schedule { learning_rate: TUNING_RATE, ..Schedule::demo() },
                    fine_tuning: Some(FineTuning { base: "demo-gpt2".into(), domain: Domain::Puzzles.name().into() }),
                    // Seeds 1 and 2 are of texts that other runs read.
                    ..plan("demo-gpt2-puzzles", Family::Gpt2, 3, 0.0).recipe
                },
                checkpoints: Vec::new(),
            },
        ]
    }
}

/// Steps of every run.
const STEPS: usize = 3000;
/// Steps of the fine-tuned run, and its highest learning rate.
const TUNING_STEPS: usize = 600;
const TUNING_RATE: f64 = 1e-3;
/// λ of the regularised runs.
const COSINE_PENALTY: f64 = 0.2;
const MSE_PENALTY: f64 = 1.0;
/// Checkpoints of the watched run, spaced to show what is learned early.
const CHECKPOINTS: [usize; 6] = [0, 16, 48, 128, 384, 1024];

impl Size {
    fn demo() -> Self {
        Self {
            vocab_size: 1024,
            hidden_size: 128,
            num_hidden_layers: 6,
            num_attention_heads: 4,
            seq_len: 128,
            initializer_range: 0.02,
        }
    }
}

impl Schedule {
    fn demo() -> Self {
        Self {
            windows: 6,
            learning_rate: 3e-3,
            final_share: 0.1,
            warmup_steps: 50,
            betas: (0.9, 0.98),
            weight_decay: 0.1,
            max_gradient_norm: 1.0,
        }
    }
}

impl Recipe {
    /// The domains of its text.
    ///
    /// # Errors
    /// If it names an unknown one.
    pub fn domains(&self) -> Result<Vec<Domain>> {
        let Some(FineTuning { domain, .. }) = &self.fine_tuning else { return Ok(Domain::ALL.to_vec()) };
        let known = Domain::ALL.into_iter().find(|known| known.name() == domain);
        Ok(vec![known.with_context(|| format!("{domain} is no domain of generated texts"))?])
    }

    /// Name of its checkpoint before step `step`.
    pub fn checkpoint_name(&self, step: usize) -> String {
        format!("{}-step{step}", self.name)
    }

    /// `config.json` in the family's format.
    pub fn config(&self) -> Value {
        let Size { vocab_size, hidden_size, num_hidden_layers, num_attention_heads, seq_len, initializer_range } =
            self.size;
        match self.family {
            Family::Gpt2 => json!({
                "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": vocab_size,
                "n_embd": hidden_size, "n_layer": num_hidden_layers, "n_head": num_attention_heads,
                "n_inner": 4 * hidden_size, "n_positions": seq_len, "activation_function": "gelu_new",
                "layer_norm_epsilon": 1e-5, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
                "initializer_range": initializer_range, "tie_word_embeddings": true,
                "bos_token_id": null, "eos_token_id": null, "dtype": "float16",
            }),
            Family::GptNeox => json!({
                "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "vocab_size": vocab_size,
                "hidden_size": hidden_size, "num_hidden_layers": num_hidden_layers,
                "num_attention_heads": num_attention_heads, "intermediate_size": 4 * hidden_size,
                "max_position_embeddings": seq_len, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5,
                "rotary_pct": 0.25, "rotary_emb_base": 10000, "use_parallel_residual": true, "attention_bias": true,
                "attention_dropout": 0.0, "hidden_dropout": 0.0, "initializer_range": initializer_range,
                "tie_word_embeddings": true, "bos_token_id": null, "eos_token_id": null, "dtype": "float16",
            }),
            Family::Llama => json!({
                "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": vocab_size,
                "hidden_size": hidden_size, "num_hidden_layers": num_hidden_layers,
                "num_attention_heads": num_attention_heads, "num_key_value_heads": num_attention_heads,
                // Three matrices of this width have as many weights as two of 4·hidden_size.
                "intermediate_size": (8 * hidden_size / 3).next_multiple_of(8),
                "max_position_embeddings": seq_len, "hidden_act": "silu", "rms_norm_eps": 1e-5,
                "rope_theta": 10000.0, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false,
                "initializer_range": initializer_range, "tie_word_embeddings": true,
                "bos_token_id": null, "eos_token_id": null, "dtype": "float16",
            }),
        }
    }
}
