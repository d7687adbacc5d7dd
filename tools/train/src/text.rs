//! Batches of synthetic text. A batch depends only on seed and step, so a run can resume at any step.

use pollster::block_on;
use straightedge::corpus::Tokenizer;
use straightedge::corpus::synthetic::{Domain, FIRST_TRAINING_SEED, SyntheticText};
use straightedge::error::Result;

use crate::recipe::Recipe;

/// Text seeds reserved per run: more than any has steps.
const STEPS: u64 = 1_000_000;

/// Bytes generated per token at first; doubled if too few.
const BYTES_PER_TOKEN: usize = 5;

/// The text of one run.
pub struct Batches {
    tokenizer: Tokenizer,
    domains: Vec<Domain>,
    seed: u64,
    windows: usize,
    seq_len: usize,
}

impl Batches {
    /// The batches of `recipe`.
    pub fn new(tokenizer_json: &[u8], recipe: &Recipe) -> anyhow::Result<Self> {
        let Recipe { seed, schedule, size, .. } = recipe;
        let (tokenizer, domains) = (Tokenizer::from_json(tokenizer_json)?, recipe.domains()?);
        Ok(Self { tokenizer, domains, seed: *seed, windows: schedule.windows, seq_len: size.seq_len })
    }

    /// Token ids of step `step`, window by window: as many from each domain, each from its own text.
    pub fn ids(&self, step: usize) -> Result<Vec<u32>> {
        let seed = FIRST_TRAINING_SEED + self.seed * STEPS + step as u64;
        let mut ids = Vec::with_capacity(self.windows * self.seq_len);
        for (index, &domain) in self.domains.iter().enumerate() {
            let share = |index: usize| index * self.windows / self.domains.len();
            let windows = share(index + 1) - share(index);
            ids.extend(self.some(SyntheticText { domain, seed }, windows * self.seq_len)?);
        }
        Ok(ids)
    }

    /// The first `tokens` tokens of a text.
    fn some(&self, synthetic: SyntheticText, tokens: usize) -> Result<Vec<u32>> {
        let mut bytes = tokens * BYTES_PER_TOKEN;
        loop {
            let mut ids = block_on(self.tokenizer.encode("generated text", synthetic.text(bytes).as_bytes()))?;
            if ids.len() >= tokens {
                ids.truncate(tokens);
                return Ok(ids);
            }
            bytes *= 2;
        }
    }
}
