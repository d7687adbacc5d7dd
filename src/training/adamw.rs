//! AdamW (Loshchilov and Hutter 2019) on candle variables, for healing and for training from scratch. \[candle-core\]

use candle_core::{Tensor, Var};

use crate::error::{Error, Result};

/// The optimiser: variables with their moments.
pub struct AdamW {
    slots: Vec<VariableState>,
    betas: (f64, f64),
    steps: i32,
}

/// A variable with the moving averages of its gradient and squared gradient.
struct VariableState {
    var: Var,
    mean: Tensor,
    square: Tensor,
    /// Decoupled weight decay, multiplied by the learning rate.
    weight_decay: f64,
}

impl AdamW {
    /// The usual β₁ and β₂.
    pub const BETAS: (f64, f64) = (0.9, 0.999);
    const EPSILON: f64 = 1e-8;

    /// A new optimiser; `weight_decay` gives the decay of each variable.
    pub fn new(vars: Vec<Var>, betas: (f64, f64), weight_decay: impl Fn(&Var) -> f64) -> Result<Self> {
        let slot = |var: Var| {
            let zeros = run("optimiser", || var.as_detached_tensor().zeros_like())?;
            let weight_decay = weight_decay(&var);
            Ok(VariableState { var, mean: zeros.clone(), square: zeros, weight_decay })
        };
        Ok(Self { slots: vars.into_iter().map(slot).collect::<Result<_>>()?, betas, steps: 0 })
    }

    /// The variables, in the order given.
    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        self.slots.iter().map(|slot| &slot.var)
    }

    /// The moving averages of every variable's gradient and squared gradient, in that order.
    pub fn moments(&self) -> impl Iterator<Item = (&Tensor, &Tensor)> {
        self.slots.iter().map(|slot| (&slot.mean, &slot.square))
    }

    /// Resumes after `steps` steps with the saved moments of the same variables.
    pub fn resume(&mut self, steps: i32, moments: impl IntoIterator<Item = (Tensor, Tensor)>) {
        self.steps = steps;
        for (slot, (mean, square)) in self.slots.iter_mut().zip(moments) {
            (slot.mean, slot.square) = (mean, square);
        }
    }

    /// Gradients of `loss`, in the order of the variables.
    pub fn gradients(&self, loss: &Tensor) -> Result<Vec<Tensor>> {
        let store = run("backward", || loss.backward())?;
        let unknown = || Error::Cpu { what: "backward".into(), why: "a weight has no gradient".into() };
        self.slots.iter().map(|slot| store.get(slot.var.as_tensor()).cloned().ok_or_else(unknown)).collect()
    }

    /// Updates every variable by its gradient.
    pub fn step(&mut self, gradients: &[Tensor], learning_rate: f64) -> Result<()> {
        self.steps += 1;
        let (beta_1, beta_2) = self.betas;
        let correction = |beta: f64| 1.0 - beta.powi(self.steps);
        let (correction_1, correction_2) = (correction(beta_1), correction(beta_2));
        for (slot, gradient) in self.slots.iter_mut().zip(gradients) {
            run("optimiser", || {
                slot.mean = ((&slot.mean * beta_1)? + (gradient * (1.0 - beta_1))?)?;
                slot.square = ((&slot.square * beta_2)? + (gradient.sqr()? * (1.0 - beta_2))?)?;
                let deviation = ((&slot.square / correction_2)?.sqrt()? + Self::EPSILON)?;
                let direction = ((&slot.mean / correction_1)? / deviation)?;
                let kept = (slot.var.as_detached_tensor() * (1.0 - learning_rate * slot.weight_decay))?;
                slot.var.set(&(kept - (direction * learning_rate)?)?)
            })?;
        }
        Ok(())
    }
}

/// Runs candle code and names the operation in its error.
fn run<T>(what: &str, body: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    body().map_err(|error| Error::Cpu { what: what.into(), why: error.to_string() })
}
