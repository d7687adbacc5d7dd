//! Healing: fine-tuning of one replaced feed-forward network with the rest of the model frozen (docs/measures.md,
//! section 4). \[candle-core\]
//!
//! Uses the forward pass of [`crate::forward`]: with variables as weights, tensors of [`CpuBackend`] record the graph
//! for gradients, and only from the replaced network on, because everything before it is frozen.

use std::ops::Range;

use candle_core::{Tensor, Var};

use crate::backend::Backend;
use crate::backend::cpu::CpuBackend;
use crate::corpus::TokenWindows;
use crate::error::{Error, Result};
use crate::forward::{Forward, ignore};
use crate::model::{Model, ModelPart};
use crate::platform::random::Random;
use crate::platform::yielding::yield_now;
use crate::replacement::device_map::DeviceMap;
use crate::replacement::swap::{Replacement, Replacements};
use crate::solve::AffineMap;
use crate::training::adamw::AdamW;

/// A model on the CPU.
pub type CpuModel = Model<Tensor>;

/// Learning rate of healing.
pub const LEARNING_RATE: f64 = 1e-4;
/// Decoupled weight decay, multiplied by the learning rate.
const WEIGHT_DECAY: f64 = 0.01;
/// Windows per step.
pub const WINDOWS: usize = 8;
/// Windows per step in the first paper's code.
pub const WINDOWS_IN_ORDER: usize = 4;
/// Maximum number of logits in one backward pass, which holds about ten copies of them.
const MAX_LOGITS: usize = 1 << 22;

/// Training text as the residual stream entering the fine-tuned block; the frozen blocks before it run only once.
pub struct HealingText {
    seq_len: usize,
    /// Residual stream of each window, `(seq_len, hidden_size)`.
    hidden: Vec<Tensor>,
    /// Next token of each position, by window; the last one is unused.
    targets: Vec<Vec<u32>>,
}

impl HealingText {
    /// Runs the windows `which` up to `block`.
    pub async fn new(
        backend: &CpuBackend,
        model: &CpuModel,
        block: usize,
        windows: &TokenWindows,
        which: Range<usize>,
    ) -> Result<Self> {
        let seq_len = windows.seq_len();
        let forward = Forward::new(backend, model, seq_len)?;
        let (mut hidden, mut targets) = (Vec::new(), Vec::new());
        for window in which {
            let ids = windows.ids(window..window + 1);
            forward.run(ids, &mut |capture| {
                if capture.block == block {
                    hidden.push(capture.hidden);
                }
                Ok(())
            })?;
            targets.push(ids.iter().skip(1).chain([&0]).copied().collect());
            yield_now().await;
        }
        Ok(Self { seq_len, hidden, targets })
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The windows of each of `steps` steps: every window once per epoch, in a new order each time.
    pub fn schedule(&self, steps: usize, mut random: Random) -> Vec<Vec<usize>> {
        let at_once = WINDOWS.min(self.len());
        let mut waiting: Vec<usize> = Vec::new();
        let mut batch = || {
            if waiting.len() < at_once {
                let mut all: Vec<usize> = (0..self.len()).collect();
                random.shuffle(&mut all);
                // Batches are taken from the end, so the remaining windows come first.
                waiting.splice(0..0, all);
            }
            let mut next = waiting.split_off(waiting.len() - at_once);
            next.reverse();
            next
        };
        (0..steps).map(|_| batch()).collect()
    }

    /// The windows of each of `steps` steps as in the first paper's code: in the order of the text, from its beginning
    /// again after its end.
    pub fn in_order(&self, steps: usize) -> Vec<Vec<usize>> {
        let at_once = WINDOWS_IN_ORDER.min(self.len());
        let step = |step: usize| (0..at_once).map(|at| (step * at_once + at) % self.len()).collect();
        (0..steps).map(step).collect()
    }
}

/// One feed-forward network in training, in an otherwise frozen model.
pub struct Healing {
    backend: CpuBackend,
    /// Shares all weights with the original except the trained ones.
    model: CpuModel,
    /// The replacement of the network, if any.
    map: Option<DeviceMap<Tensor>>,
    block: usize,
    optimiser: AdamW,
}

impl Healing {
    /// Trains the map that replaces the network of `block`, in the centred and scaled form in which it is applied: the
    /// parameters are (W ⊙ σ) and the value at x̄.
    pub fn linear(backend: &CpuBackend, model: &CpuModel, block: usize, map: &AffineMap) -> Result<Self> {
        Self::map(backend, model, block, map, WEIGHT_DECAY)
    }

    /// Trains W and b themselves without weight decay, as the first paper's code does (Adam).
    pub fn linear_adam(backend: &CpuBackend, model: &CpuModel, block: usize, map: &AffineMap) -> Result<Self> {
        let d_in = map.mean_x.len();
        let raw =
            AffineMap { mean_x: vec![0.0; d_in], deviation_x: vec![1.0; d_in], mean_y: map.bias(), ..map.clone() };
        Self::map(backend, model, block, &raw, 0.0)
    }

    fn map(backend: &CpuBackend, model: &CpuModel, block: usize, map: &AffineMap, decay: f64) -> Result<Self> {
        let mut vars = Vec::new();
        let map = DeviceMap::upload(backend, map)?.with_weights(&mut |weight| variable(&mut vars, weight))?;
        let optimiser = optimiser(vars, decay)?;
        Ok(Self { backend: backend.clone(), model: model.clone(), map: Some(map), block, optimiser })
    }

    /// Trains the network of `block` itself: the same training without a replacement.
    pub fn original(backend: &CpuBackend, model: &CpuModel, block: usize) -> Result<Self> {
        let (mut vars, mut model) = (Vec::new(), model.clone());
        let ffn = model.blocks[block].ffn.clone();
        model.blocks[block].ffn = ffn.map(&mut |weight| variable(&mut vars, weight))?;
        Ok(Self { backend: backend.clone(), model, map: None, block, optimiser: optimiser(vars, WEIGHT_DECAY)? })
    }

    /// Mean negative log-likelihood of the predicted tokens of the given windows.
    pub async fn loss(&self, text: &HealingText, windows: &[usize]) -> Result<f64> {
        self.loss_and_gradients(text, windows, false).await.map(|(loss, _)| loss)
    }

    /// One step of AdamW on the given windows. Returns the loss before the step.
    pub async fn step(&mut self, text: &HealingText, windows: &[usize], learning_rate: f64) -> Result<f64> {
        let (loss, gradients) = self.loss_and_gradients(text, windows, true).await?;
        self.optimiser.step(&gradients, learning_rate)?;
        Ok(loss)
    }

    /// The current model, detached from the graph; its swaps are [`Healing::swaps`].
    pub fn model(&self) -> Result<CpuModel> {
        let mut model = self.model.clone();
        let ffn = model.blocks[self.block].ffn.clone();
        model.blocks[self.block].ffn = ffn.map(&mut |weight| Ok(weight.detach()))?;
        Ok(model)
    }

    /// The current replacements, detached from the graph.
    pub fn swaps(&self) -> Result<Replacements<Tensor>> {
        let detached = |map: DeviceMap<Tensor>| map.with_weights(&mut |weight| Ok(weight.detach()));
        Ok(self.swaps_of(self.map.clone().map(detached).transpose()?))
    }

    fn swaps_of(&self, map: Option<DeviceMap<Tensor>>) -> Replacements<Tensor> {
        map.map(|map| (self.block, Replacement::Affine(map))).into_iter().collect()
    }

    /// Every trained weight with its gradient at the mean loss of the given windows, for tests.
    pub async fn gradients(&self, text: &HealingText, windows: &[usize]) -> Result<Vec<(Var, Tensor)>> {
        let (_, gradients) = self.loss_and_gradients(text, windows, true).await?;
        Ok(self.optimiser.vars().cloned().zip(gradients).collect())
    }

    /// Accumulates over parts whose logits fit into memory; they add up to the mean over all windows.
    async fn loss_and_gradients(
        &self,
        text: &HealingText,
        windows: &[usize],
        backward: bool,
    ) -> Result<(f64, Vec<Tensor>)> {
        let forward = Forward::new(&self.backend, &self.model, text.seq_len)?;
        let at_once = (MAX_LOGITS / forward.vocab_size() / text.seq_len).max(1);
        let predicted = windows.len() * (text.seq_len - 1);
        let (mut loss, mut sums) = (0.0, None);
        for part in windows.chunks(at_once) {
            let part_loss = self.part(&forward, text, part, predicted)?;
            loss += scalar(&part_loss)?;
            if backward {
                let gradients = self.optimiser.gradients(&part_loss)?;
                sums = Some(match sums {
                    None => gradients,
                    Some(sums) => add_all(sums, &gradients)?,
                });
            }
            yield_now().await;
        }
        Ok((loss, sums.unwrap_or_default()))
    }

    /// The contribution of some windows to the mean over `predicted` tokens.
    fn part(
        &self,
        forward: &Forward<'_, CpuBackend>,
        text: &HealingText,
        windows: &[usize],
        predicted: usize,
    ) -> Result<Tensor> {
        let entering: Vec<&Tensor> = windows.iter().map(|&window| &text.hidden[window]).collect();
        let targets: Vec<u32> = windows.iter().flat_map(|&window| text.targets[window].iter().copied()).collect();
        let entering = run("gather windows", || Tensor::cat(&entering, 0))?;
        let last = forward.resume(self.block, entering, &self.swaps_of(self.map.clone()), &mut ignore)?;
        let nll = self.backend.next_token_nll(&forward.logits(&last)?, &targets)?;
        run("loss", || {
            let counted = nll.reshape((windows.len(), text.seq_len))?.narrow(1, 0, text.seq_len - 1)?;
            counted.sum_all()? / predicted as f64
        })
    }
}

/// AdamW with the usual constants and the same weight decay on every weight.
fn optimiser(vars: Vec<Var>, decay: f64) -> Result<AdamW> {
    AdamW::new(vars, AdamW::BETAS, |_| decay)
}

/// A trainable copy of `weight`.
fn variable(vars: &mut Vec<Var>, weight: Tensor) -> Result<Tensor> {
    let var = run("variable", || Var::from_tensor(&weight))?;
    let tensor = var.as_tensor().clone();
    vars.push(var);
    Ok(tensor)
}

fn add_all(sums: Vec<Tensor>, more: &[Tensor]) -> Result<Vec<Tensor>> {
    run("sum gradients", || sums.iter().zip(more).map(|(sum, more)| sum + more).collect())
}

fn scalar(tensor: &Tensor) -> Result<f64> {
    run("loss", || tensor.to_dtype(candle_core::DType::F64)?.to_scalar())
}

/// Runs candle code and names the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}
