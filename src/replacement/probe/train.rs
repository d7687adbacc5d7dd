//! Stochastic gradient descent on batches of rows on the device.

use super::Values;
use super::network::Network;
use crate::backend::{Activation, Adam, AdamStep, Backend, Shape};
use crate::error::Result;
use crate::platform::random::Random;

/// Rows per batch.
pub const BATCH: usize = 256;
/// Rows per batch when no gradient is needed.
pub const ROWS_AT_ONCE: usize = 1024;

/// Training data: rows of x and their targets.
#[derive(Clone, Debug)]
pub struct TrainingRows<T> {
    /// `(rows, d_in)`.
    pub x: T,
    /// `(rows, d_out)`.
    pub target: T,
}

impl<T: Clone> TrainingRows<T> {
    /// Gathers the rows `ids` of both.
    pub fn rows<B: Backend<Tensor = T>>(&self, backend: &B, ids: &[u32]) -> Result<Self> {
        Ok(Self { x: backend.gather(&self.x, ids)?, target: backend.gather(&self.target, ids)? })
    }
}

/// Update rule of the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimiser {
    /// Plain gradient descent.
    Sgd {
        /// Step size.
        rate: f64,
    },
    /// Adam with decoupled weight decay.
    Adam {
        /// Learning rate.
        rate: f64,
        /// Weight decay.
        decay: f64,
        /// Steps over which the learning rate decays to 0 along a cosine; `None` keeps it constant.
        cosine: Option<usize>,
    },
}

impl Optimiser {
    /// The optimiser of probes.
    pub const PROBE: Self = Self::Adam { rate: 1e-3, decay: 0.0, cosine: None };
}

/// How a network is trained.
pub struct TrainingPlan {
    /// Its first parameters.
    pub initial: Network<Values>,
    /// Rule of every step.
    pub optimiser: Optimiser,
    /// Order of the rows.
    pub random: Random,
}

/// A network in training.
pub struct Trainer<'a, B: Backend> {
    backend: &'a B,
    table: &'a TrainingRows<B::Tensor>,
    network: Network<Adam<B::Tensor>>,
    optimiser: Optimiser,
    ones: B::Tensor,
    batch: usize,
    /// Training rows, in the order of this epoch.
    order: Vec<u32>,
    at: usize,
    random: Random,
    steps: usize,
}

impl<'a, B: Backend> Trainer<'a, B> {
    /// A training on the rows `ids` of `table`.
    pub fn new(backend: &'a B, table: &'a TrainingRows<B::Tensor>, ids: Vec<u32>, plan: TrainingPlan) -> Result<Self> {
        let TrainingPlan { initial, optimiser, random } = plan;
        let network = initial.map(&mut |values: &Values| {
            let zeros = Values::zeros(values.shape.rows, values.shape.cols).upload(backend)?;
            Ok(Adam { parameter: values.upload(backend)?, first: zeros.clone(), second: zeros })
        })?;
        let batch = BATCH.min(ids.len());
        let ones = backend.upload("ones", Shape::new(1, batch), &vec![1.0; batch])?;
        // Starts at the end of an epoch, so that the first step shuffles.
        let at = ids.len();
        Ok(Self { backend, table, network, optimiser, ones, batch, order: ids, at, random, steps: 0 })
    }

    /// Steps taken.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The current parameters.
    pub fn network(&self) -> Result<Network<B::Tensor>> {
        self.network.map(&mut |state| Ok(state.parameter.clone()))
    }

    /// One step on the next batch, along the gradient of half the mean squared error per row.
    pub fn step(&mut self) -> Result<()> {
        let batch = self.next_batch();
        let rows = self.table.rows(self.backend, &batch)?;
        let network = self.network()?;
        let traces = network.forward(self.backend, &rows.x)?;
        let share = (batch.len() as f64).recip();
        let error = self.backend.combine(output(&traces), share, &rows.target, -share)?;
        let gradients = network.backward(self.backend, &traces, error, &self.ones)?;
        self.steps += 1;
        self.network = self.network.zip(&gradients, &mut |state, gradient| self.moved(state, gradient))?;
        Ok(())
    }

    /// Σ‖prediction − target‖² over the rows `ids` of the table.
    pub async fn squared_error(&self, ids: &[u32]) -> Result<f64> {
        let network = self.network()?;
        let mut sum = 0.0;
        for ids in ids.chunks(ROWS_AT_ONCE) {
            let rows = self.table.rows(self.backend, ids)?;
            let traces = network.forward(self.backend, &rows.x)?;
            let error = self.backend.combine(output(&traces), 1.0, &rows.target, -1.0)?;
            let squares = self.backend.gated(&error, &error, Activation::Identity)?;
            let ones = self.backend.upload("ones", Shape::new(1, ids.len()), &vec![1.0; ids.len()])?;
            let columns = self.backend.linear(&ones, &self.backend.transpose(&squares)?, None)?;
            sum += self.backend.read(&columns).await?.into_iter().map(f64::from).sum::<f64>();
        }
        Ok(sum)
    }

    /// The next batch; every epoch visits all rows in a new order, except for a remainder smaller than a batch.
    fn next_batch(&mut self) -> Vec<u32> {
        if self.at + self.batch > self.order.len() {
            self.random.shuffle(&mut self.order);
            self.at = 0;
        }
        let batch = self.order[self.at..self.at + self.batch].to_vec();
        self.at += self.batch;
        batch
    }

    fn moved(&self, state: &Adam<B::Tensor>, gradient: &B::Tensor) -> Result<Adam<B::Tensor>> {
        match self.optimiser {
            Optimiser::Sgd { rate } => {
                let parameter = self.backend.combine(&state.parameter, 1.0, gradient, -rate)?;
                Ok(Adam { parameter, ..state.clone() })
            }
            Optimiser::Adam { rate, decay, cosine } => {
                let left = cosine.map_or(1.0, |total| {
                    let done = (self.steps - 1) as f64 / total as f64;
                    0.5 + 0.5 * (std::f64::consts::PI * done).cos()
                });
                let step = AdamStep { step: self.steps, learning_rate: rate * left, weight_decay: decay };
                self.backend.adam(state, gradient, &step)
            }
        }
    }
}

/// The output of the last layer.
fn output<T>(traces: &[super::network::Trace<T>]) -> &T {
    &traces[traces.len() - 1].output
}

/// Steps between two validations.
pub const CHECK_STEPS: usize = 100;
/// Validations without progress after which training stops.
const PATIENCE: usize = 5;
/// Relative decrease of the error that counts as progress.
const PROGRESS: f64 = 1e-3;

/// Early stopping: the best parameters so far, and validations since the error last fell by a thousandth.
#[derive(Clone, Debug)]
pub struct Stopping<T> {
    best_error: f64,
    best: Network<T>,
    /// Error at the last progress.
    mark: f64,
    stale: usize,
}

impl<T: Clone> Stopping<T> {
    /// Starts with the untrained network.
    pub fn new(error: f64, network: Network<T>) -> Self {
        Self { best_error: error, best: network, mark: error, stale: 0 }
    }

    /// Records a validation error and the network that has it.
    pub fn observe(&mut self, error: f64, network: Network<T>) {
        if error < self.best_error {
            (self.best_error, self.best) = (error, network);
        }
        if error < (1.0 - PROGRESS) * self.mark {
            (self.mark, self.stale) = (error, 0);
        } else {
            self.stale += 1;
        }
    }

    /// Whether training should stop.
    pub fn has_converged(&self) -> bool {
        self.stale >= PATIENCE
    }

    /// The network with the smallest error.
    pub fn best(self) -> Network<T> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_stops_once_the_error_stays_and_keeps_the_best() {
        let network = |_: usize| Network::<usize>(Vec::new());
        let mut stopping = Stopping::new(1.0, network(0));
        for (step, error) in [0.9, 0.5, f64::NAN, 0.6, 0.4999, 0.7, 0.4998].into_iter().enumerate() {
            assert!(!stopping.has_converged(), "{step}");
            stopping.observe(error, network(step));
        }
        assert!(stopping.has_converged(), "five looks without a thousandth");
        assert_eq!(stopping.best_error, 0.4998);
    }
}
