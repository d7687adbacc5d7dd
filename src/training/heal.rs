//! Healing: fine-tuning of replaced networks and layers with the rest of the model frozen (docs/measures.md, section 4).
//! \[candle-core\]
//!
//! Uses the forward pass of [`crate::forward`]: with variables as weights, tensors of [`CpuBackend`] record the graph
//! for gradients, and only from the first replaced block on, because everything before it is frozen.

use std::ops::Range;
use std::rc::Rc;

use candle_core::{Tensor, Var};

use crate::backend::Backend;
use crate::backend::cpu::CpuBackend;
use crate::corpus::TokenWindows;
use crate::error::{Error, Result};
use crate::forward::Forward;
use crate::model::{Model, ModelPart};
use crate::platform::random::Random;
use crate::platform::yielding::yield_now;
use crate::replacement::replaced::{Replaced, ReplacedParts};
use crate::replacement::swap::Replacement;
use crate::solve::AffineMap;
use crate::training::adamw::AdamW;

/// A model on the CPU.
pub type CpuModel = Model<Tensor>;

/// Replaced parts of such a model.
pub type CpuParts = ReplacedParts<Tensor>;

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

/// What a healed model learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The next tokens of the text: their mean negative log-likelihood.
    Tokens,
    /// The residual streams of the original model: the squared error of every row relative to its squared length,
    /// averaged over rows and over the streams after all blocks from the first replaced one on.
    Streams,
}

/// Replaced parts, or a network itself, in training in an otherwise frozen model.
pub struct Healing {
    backend: CpuBackend,
    /// Shares all weights with the original except the trained ones.
    model: CpuModel,
    /// The replaced parts, whose maps are trained; empty if the network itself is.
    parts: CpuParts,
    /// The first block that differs from the original.
    first: usize,
    objective: Objective,
    optimiser: AdamW,
}

impl Healing {
    /// Trains the map that replaces the network of `block`, in the centred and scaled form in which it is applied: the
    /// parameters are (W ⊙ σ) and the value at x̄.
    pub fn linear(backend: &CpuBackend, model: &CpuModel, block: usize, map: &AffineMap) -> Result<Self> {
        let parts = &network(backend, block, map)?;
        Self::replaced(backend, model, parts, Objective::Tokens, WEIGHT_DECAY)
    }

    /// Trains W and b themselves without weight decay, as the first paper's code does (Adam).
    pub fn linear_adam(backend: &CpuBackend, model: &CpuModel, block: usize, map: &AffineMap) -> Result<Self> {
        let d_in = map.mean_x.len();
        let raw =
            AffineMap { mean_x: vec![0.0; d_in], deviation_x: vec![1.0; d_in], mean_y: map.bias(), ..map.clone() };
        Self::replaced(backend, model, &network(backend, block, &raw)?, Objective::Tokens, 0.0)
    }

    /// Trains the maps of several replaced parts together, in the form of [`Healing::linear`].
    pub fn together(backend: &CpuBackend, model: &CpuModel, parts: &CpuParts, objective: Objective) -> Result<Self> {
        Self::replaced(backend, model, parts, objective, WEIGHT_DECAY)
    }

    /// Trains the network of `block` itself: the same training without a replacement.
    pub fn original(backend: &CpuBackend, model: &CpuModel, block: usize) -> Result<Self> {
        let (mut vars, mut model) = (Vec::new(), model.clone());
        let ffn = model.blocks[block].ffn.clone();
        model.blocks[block].ffn = ffn.map(&mut |weight| variable(&mut vars, &weight))?;
        let (parts, objective) = (CpuParts::new(), Objective::Tokens);
        let optimiser = optimiser(vars, WEIGHT_DECAY)?;
        Ok(Self { backend: backend.clone(), model, parts, first: block, objective, optimiser })
    }

    fn replaced(
        backend: &CpuBackend,
        model: &CpuModel,
        parts: &CpuParts,
        objective: Objective,
        decay: f64,
    ) -> Result<Self> {
        let mut vars = Vec::new();
        let parts = with_weights(parts, &mut |weight| variable(&mut vars, weight))?;
        let first = parts.keys().next().copied().unwrap_or_default();
        let optimiser = optimiser(vars, decay)?;
        Ok(Self { backend: backend.clone(), model: model.clone(), parts, first, objective, optimiser })
    }

    /// Mean loss of the given windows.
    pub async fn loss(&self, text: &HealingText, windows: &[usize]) -> Result<f64> {
        self.mean_loss(self.objective, (text, windows), &mut |_| Ok(())).await
    }

    /// [`Objective::Streams`] over all of a text, whatever is learned.
    pub async fn stream_error(&self, text: &HealingText) -> Result<f64> {
        let all: Vec<usize> = (0..text.len()).collect();
        self.mean_loss(Objective::Streams, (text, &all), &mut |_| Ok(())).await
    }

    /// One step of AdamW on the given windows. Returns the loss before the step.
    pub async fn step(&mut self, text: &HealingText, windows: &[usize], learning_rate: f64) -> Result<f64> {
        let (loss, gradients) = self.loss_and_gradients(text, windows).await?;
        self.optimiser.step(&gradients, learning_rate)?;
        Ok(loss)
    }

    /// The current model, detached from the graph; what is replaced in it are [`Healing::parts`].
    pub fn model(&self) -> Result<CpuModel> {
        let mut model = self.model.clone();
        let ffn = model.blocks[self.first].ffn.clone();
        model.blocks[self.first].ffn = ffn.map(&mut |weight| Ok(weight.detach()))?;
        Ok(model)
    }

    /// The current replaced parts, detached from the graph.
    pub fn parts(&self) -> Result<CpuParts> {
        with_weights(&self.parts, &mut |weight| Ok(weight.detach()))
    }

    /// The first block that differs from the original.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Every trained weight with its gradient at the mean loss of the given windows, for tests.
    pub async fn gradients(&self, text: &HealingText, windows: &[usize]) -> Result<Vec<(Var, Tensor)>> {
        let (_, gradients) = self.loss_and_gradients(text, windows).await?;
        Ok(self.optimiser.vars().cloned().zip(gradients).collect())
    }

    /// The mean loss of some windows and its gradients.
    async fn loss_and_gradients(&self, text: &HealingText, windows: &[usize]) -> Result<(f64, Vec<Tensor>)> {
        let mut sums: Option<Vec<Tensor>> = None;
        let mut add = |part: &Tensor| {
            let gradients = self.optimiser.gradients(part)?;
            sums = Some(match sums.take() {
                None => gradients,
                Some(sums) => add_all(sums, &gradients)?,
            });
            Ok(())
        };
        let loss = self.mean_loss(self.objective, (text, windows), &mut add).await?;
        Ok((loss, sums.unwrap_or_default()))
    }

    /// The mean loss of some windows, as the sum over groups whose logits fit into memory; `on_part` gets every summand.
    async fn mean_loss(
        &self,
        objective: Objective,
        (text, windows): (&HealingText, &[usize]),
        on_part: &mut dyn FnMut(&Tensor) -> Result<()>,
    ) -> Result<f64> {
        let forward = Forward::new(&self.backend, &self.model, text.seq_len)?;
        let at_once = (MAX_LOGITS / forward.vocab_size() / text.seq_len).max(1);
        let mut loss = 0.0;
        for group in windows.chunks(at_once) {
            let share = group.len() as f64 / windows.len() as f64;
            let of_group = self.group_loss(objective, &forward, (text, group))?;
            let part = run("loss", || of_group * share)?;
            loss += scalar(&part)?;
            on_part(&part)?;
            yield_now().await;
        }
        Ok(loss)
    }

    /// The mean loss of one group of windows.
    fn group_loss(
        &self,
        objective: Objective,
        forward: &Forward<'_, CpuBackend>,
        (text, windows): (&HealingText, &[usize]),
    ) -> Result<Tensor> {
        let entering: Vec<&Tensor> = windows.iter().map(|&window| &text.hidden[window]).collect();
        let entering = run("gather windows", || Tensor::cat(&entering, 0))?;
        let all = forward.streams(self.first, entering.clone(), &self.parts)?;
        match objective {
            Objective::Streams => stream_error(&all, &forward.streams(self.first, entering, &CpuParts::new())?),
            Objective::Tokens => {
                let targets: Vec<u32> =
                    windows.iter().flat_map(|&window| text.targets[window].iter().copied()).collect();
                let nll = self.backend.next_token_nll(&forward.logits(&all[all.len() - 1])?, &targets)?;
                run("loss", || nll.reshape((windows.len(), text.seq_len))?.narrow(1, 0, text.seq_len - 1)?.mean_all())
            }
        }
    }
}

/// The squared error of every row relative to its squared length, averaged over rows and streams.
fn stream_error(streams: &[Tensor], originals: &[Tensor]) -> Result<Tensor> {
    run("error of streams", || {
        let squares = |rows: &Tensor| rows.sqr()?.sum_keepdim(1);
        let errors = streams.iter().zip(originals).map(|(stream, original)| {
            let error = squares(&(stream - original)?)?;
            (error / squares(original)?)?.mean_all()
        });
        Tensor::stack(&errors.collect::<candle_core::Result<Vec<_>>>()?, 0)?.mean_all()
    })
}

/// The network of `block` replaced by a map.
fn network(backend: &CpuBackend, block: usize, map: &AffineMap) -> Result<CpuParts> {
    let map = Replacement::affine(backend, map)?;
    Ok([(block, Rc::new(Replaced::Network(map)))].into())
}

/// The parts with `make` applied to every weight that is trained.
fn with_weights(parts: &CpuParts, make: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<CpuParts> {
    parts.iter().map(|(block, part)| Ok((*block, Rc::new(part.with_weights(make)?)))).collect()
}

/// AdamW with the usual constants and the same weight decay on every weight.
fn optimiser(vars: Vec<Var>, decay: f64) -> Result<AdamW> {
    AdamW::new(vars, AdamW::BETAS, |_| decay)
}

/// A trainable copy of `weight`.
fn variable(vars: &mut Vec<Var>, weight: &Tensor) -> Result<Tensor> {
    let var = run("variable", || Var::from_tensor(weight))?;
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
