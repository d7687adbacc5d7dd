//! The record of a run, written next to its model.

use serde::{Deserialize, Serialize};
use straightedge::corpus::synthetic;

use crate::recipe::Recipe;
use crate::trainer::Losses;

/// Everything needed to repeat the run, and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The recipe.
    pub recipe: Recipe,
    /// Version of the synthetic texts.
    pub corpus_version: u32,
    /// Version of the program.
    pub program: String,
    /// Hardware threads of the processor.
    pub threads: usize,
    /// Devices used, in order: `cpu`, `cuda:0`, `metal:0`.
    pub devices: Vec<String>,
    /// Seconds of all steps, other load on the machine included.
    pub seconds: f64,
    /// Mean negative log-likelihood of every step's batch before the step, in nats per token.
    pub losses: Vec<f64>,
    /// Σ_ℓ (1 − cos(h_ℓ, h_ℓ₋₁)) of every step's batch, averaged over tokens, even if it is not part of the loss.
    pub cosine: Vec<f64>,
    /// Σ_ℓ of the mean of (h_ℓ − h_ℓ₋₁)² of every step's batch, likewise; the first demo models' records lack it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mse: Vec<f64>,
}

impl Record {
    /// The record of a run that has not begun.
    pub fn new(recipe: Recipe) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (corpus_version, program) = (synthetic::VERSION, env!("CARGO_PKG_VERSION").into());
        let (devices, losses, cosine, mse) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { recipe, corpus_version, program, threads, devices, seconds: 0.0, losses, cosine, mse }
    }

    /// Records the device of the next steps.
    pub fn goes_on_with(&mut self, device: String) {
        if self.devices.last() != Some(&device) && self.steps_done() < self.recipe.steps {
            self.devices.push(device);
        }
    }

    /// Steps done.
    pub fn steps_done(&self) -> usize {
        self.losses.len()
    }

    /// Records one step.
    pub fn add(&mut self, losses: Losses, seconds: f64) {
        self.losses.push(rounded(losses.nll));
        self.cosine.push(rounded(losses.cosine));
        self.mse.push(rounded(losses.mse));
        self.seconds += seconds;
    }

    /// Mean loss of the last `steps` steps.
    pub fn recent(&self, steps: usize) -> f64 {
        let recent = &self.losses[self.losses.len().saturating_sub(steps)..];
        recent.iter().sum::<f64>() / recent.len().max(1) as f64
    }

    /// Tokens seen.
    pub fn tokens(&self) -> usize {
        self.steps_done() * self.recipe.schedule.windows * self.recipe.size.seq_len
    }
}

/// Rounded to six decimals, enough for comparisons.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
