//! Trains one model: the engine's forward pass over variables, its loss, and the optimiser. \[candle-core\]

use std::rc::Rc;

use crate::backend::TrainingBackend;
use candle_core::{DType, Tensor, Var};
use pollster::block_on;
use straightedge::backend::Backend;
use straightedge::error::{Error, Result};
use straightedge::forward::Forward;
use straightedge::model::{self, Linear, Model, ModelConfig, ModelPart};
use straightedge::training::adamw::AdamW;
use straightedge::weights::{Files, Weights};

use crate::recipe::Recipe;

/// A model whose weights are variables.
pub struct Trainer {
    backend: TrainingBackend,
    recipe: Recipe,
    model: Model<Tensor>,
    optimiser: AdamW,
    step: usize,
}

/// The losses of a step, before the update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Mean negative log-likelihood of a predicted token, in nats.
    pub nll: f64,
    /// Σ_ℓ (1 − cos(h_ℓ, h_ℓ₋₁)), averaged over tokens; without its factor λ.
    pub cosine: f64,
    /// Σ_ℓ of the mean of (h_ℓ − h_ℓ₋₁)² over tokens and features; without its factor λ.
    pub mse: f64,
    /// Global gradient norm before clipping.
    pub gradient_norm: f64,
}

impl Trainer {
    /// The model of `recipe` before its first step, initialised like the engine's re-initialised models, the same on
    /// every device.
    pub fn new(recipe: Recipe, backend: TrainingBackend) -> Result<Self> {
        let config = ModelConfig::from_json(&recipe.config().to_string())?;
        let drawn = block_on(config.shapes().drawn(&backend, recipe.seed))?;
        let mut vars = Vec::new();
        let mut variable = |tensor: Tensor| {
            let var = run("variable", || Var::from_tensor(&tensor))?;
            let tensor = var.as_tensor().clone();
            vars.push(var);
            Ok(tensor)
        };
        let mut model = drawn.map(&mut variable)?;
        model.head = Some(Linear { weight: model.embedding.tokens.clone(), bias: None });
        // Biases and norms are rows; embeddings are matrices like all others.
        let decay = recipe.schedule.weight_decay;
        let weight_decay = |var: &Var| if var.dims()[0] == 1 { 0.0 } else { decay };
        let optimiser = AdamW::new(vars, recipe.schedule.betas, weight_decay)?;
        Ok(Self { backend, recipe, model, optimiser, step: 0 })
    }

    /// The backend.
    pub fn backend(&self) -> &TrainingBackend {
        &self.backend
    }

    /// Steps done.
    pub fn steps_done(&self) -> usize {
        self.step
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The optimiser with all variables.
    pub fn optimiser(&self) -> &AdamW {
        &self.optimiser
    }

    /// Restores a saved state after `steps` steps; its tensors may be on any device.
    pub fn resume(&mut self, steps: usize, weights: &[Tensor], moments: &[(Tensor, Tensor)]) -> Result<()> {
        let here = |tensor: &Tensor| run("resume", || tensor.to_device(self.backend.device()));
        for (var, weight) in self.optimiser.vars().zip(weights) {
            let weight = here(weight)?;
            run("resume", || var.set(&weight))?;
        }
        let moments = moments.iter().map(|(mean, square)| Ok((here(mean)?, here(square)?)));
        let moments: Vec<_> = moments.collect::<Result<_>>()?;
        self.optimiser.resume(steps as i32, moments);
        self.step = steps;
        Ok(())
    }

    /// Replaces all weights by those of a model of the same shape.
    ///
    /// # Errors
    /// If the model cannot be read, or has another shape.
    pub fn begin_with(&mut self, files: impl Files + 'static) -> Result<()> {
        let weights = block_on(Weights::open(Rc::new(files)))?;
        let model =
            block_on(model::load(&self.backend, &self.model.config, &weights, model::ModelParts::Body, &|_, _| {}))?;
        let mut vars = self.optimiser.vars();
        let set = &mut |tensor: Tensor| {
            let var =
                vars.next().ok_or_else(|| Error::Cpu { what: "weights".into(), why: "there are too many".into() })?;
            run("weights", || var.set(&tensor))
        };
        model.map(set).map(drop)
    }

    /// The current model.
    pub fn model(&self) -> &Model<Tensor> {
        &self.model
    }

    /// One step on the windows `ids`.
    pub fn step(&mut self, ids: &[u32]) -> Result<Losses> {
        self.move_weights(ids).map_err(|error| match error {
            // candle's errors count as the GPU's.
            Error::Cpu { what, why } if !self.backend.device().is_cpu() => Error::Gpu { what, why },
            other => other,
        })
    }

    fn move_weights(&mut self, ids: &[u32]) -> Result<Losses> {
        let [nll, cosine, mse] = self.losses(ids)?;
        let mut loss = nll.clone();
        for (penalty, term) in [(self.recipe.cosine_penalty, &cosine), (self.recipe.mse_penalty, &mse)] {
            if penalty > 0.0 {
                loss = run("loss", || &loss + (term * penalty)?)?;
            }
        }
        let mut gradients = self.optimiser.gradients(&loss)?;
        let gradient_norm = norm(&gradients)?;
        let largest = self.recipe.schedule.max_gradient_norm;
        if gradient_norm > largest {
            gradients =
                run("clip", || gradients.iter().map(|gradient| gradient * (largest / gradient_norm)).collect())?;
        }
        let rate = self.recipe.schedule.learning_rate(self.step, self.recipe.steps);
        self.optimiser.step(&gradients, rate)?;
        self.step += 1;
        Ok(Losses { nll: scalar(&nll)?, cosine: scalar(&cosine)?, mse: scalar(&mse)?, gradient_norm })
    }

    fn losses(&self, ids: &[u32]) -> Result<[Tensor; 3]> {
        let seq_len = self.recipe.size.seq_len;
        let forward = Forward::new(&self.backend, &self.model, seq_len)?;
        let mut hidden = Vec::new();
        let last = forward.run(ids, &mut |capture| {
            hidden.push(capture.hidden);
            Ok(())
        })?;
        let targets: Vec<u32> = ids.iter().skip(1).chain([&0]).copied().collect();
        let nll = self.backend.next_token_nll(&forward.logits(&last)?, &targets)?;
        let nll = run("loss", || nll.reshape((ids.len() / seq_len, seq_len))?.narrow(1, 0, seq_len - 1)?.mean_all())?;
        hidden.push(last);
        let cosine = summed(&hidden, self.recipe.cosine_penalty > 0.0, |after, before| {
            let cosines = self.backend.row_cosines(after, before)?;
            run("loss", || 1.0 - cosines.mean_all()?)
        })?;
        let mse = summed(&hidden, self.recipe.mse_penalty > 0.0, |after, before| {
            run("loss", || (after - before)?.sqr()?.mean_all())
        })?;
        Ok([nll, cosine, mse])
    }
}

/// The sum over layers of how far each moves the residual stream; detached unless it is `in_loss`.
fn summed(hidden: &[Tensor], in_loss: bool, moved: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let mut sum = run("loss", || Tensor::zeros((), DType::F32, hidden[0].device()))?;
    for pair in hidden.windows(2) {
        let term = if in_loss { moved(&pair[1], &pair[0])? } else { moved(&pair[1].detach(), &pair[0].detach())? };
        sum = run("loss", || sum + term)?;
    }
    Ok(sum)
}

/// The global norm; all sums of squares are read from the device at once.
fn norm(gradients: &[Tensor]) -> Result<f64> {
    let squares = |gradient: &Tensor| gradient.sqr()?.sum_all();
    let sums: Vec<f32> =
        run("norm", || Tensor::stack(&gradients.iter().map(squares).collect::<Result<Vec<_>, _>>()?, 0)?.to_vec1())?;
    Ok(sums.iter().map(|&sum| f64::from(sum)).sum::<f64>().sqrt())
}

/// Reads an f32 scalar: not every device has f64.
fn scalar(tensor: &Tensor) -> Result<f64> {
    run("loss", || tensor.to_scalar::<f32>()).map(f64::from)
}

/// Runs candle code, naming the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}
