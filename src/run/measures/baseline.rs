//! `baseline`: the affine map trained by gradient descent on raw inputs, for comparison with the closed form's R².

use futures::FutureExt;

use crate::backend::{Backend, Shape};
use crate::baseline::BaselineTraining;
use crate::error::Result;
use crate::event::{CurveEvent, Event};
use crate::platform::random::Random;
use crate::replacement::probe::Values;
use crate::replacement::probe::network::{Layer, Network};
use crate::replacement::probe::readout;
use crate::replacement::probe::train::{BATCH, Optimiser, Trainer, TrainingPlan, TrainingRows};
use crate::report::{CurvePoint, finite};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::stops::stops;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Visit};
use crate::solve;
use crate::stats::moments::Moments;

use super::captured::Captured;

/// Steps between two waits for the device, where a cancel takes effect.
const STEPS_AT_ONCE: usize = 20;
/// AdamW's learning rate, of `adamw` at the start: PyTorch's default.
const ADAMW_RATE: f64 = 1e-3;
/// Weight decay of `adamw`: too small to move the optimum by 1e-3 of R².
const ADAMW_DECAY: f64 = 1e-4;
/// Weight decay of `adamw_constant`: PyTorch's default.
const DEFAULT_DECAY: f64 = 1e-2;
/// Separates the draws of batches from other uses of the seed.
const BATCHES: u64 = 0x62_61_73;
/// Separates the draws of a start from other uses of the seed.
const START: u64 = 0x73_74_61;

/// Trains the affine map of every block by gradient descent, in every way that [`BaselineTraining`] names.
pub(super) struct Baseline<'a, B: Backend> {
    pub(super) pass: &'a Pass<'a, B>,
    pub(super) meter: StageMeter,
    /// Steps of earlier trainings.
    pub(super) done: usize,
}

impl<B: Backend> BlockMeasure<B> for Baseline<'_, B> {
    fn needs_all_rows(&self) -> bool {
        true
    }

    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.train(visit, solved).boxed_local()
    }
}

impl<B: Backend> Baseline<'_, B> {
    async fn train(&mut self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        self.meter.resume();
        let Pass { backend, job, folds, out, .. } = *self.pass;
        let (index, steps) = (visit.index, job.training.baseline_steps);
        let rows = Captured::of(visit, folds, &job.protocol).await?;
        let upload = |data: &[f32], cols| backend.upload("rows", Shape::new(rows.len(), cols), data);
        let table = TrainingRows { x: upload(&rows.x, rows.d_in)?, target: upload(&rows.y, rows.d_out)? };
        let [train, heldout] = raw_moments(backend, index, &rows, &table).await?;
        let rate = stable_rate(index, &rows, &train)?;
        for training in BaselineTraining::ALL {
            let optimiser = optimiser(training, rate, steps);
            let setup = TrainingSetup { training, optimiser, rows: &rows, table: &table, heldout: &heldout };
            let curve = self.train_one(solved, &setup).await?;
            solved.report.curves.insert(training.name().into(), curve);
            self.done += steps;
        }
        out.emit(Event::Block(Box::new(solved.report.clone()))).await;
        self.meter.pause();
        self.pass.set_seconds(|seconds| &mut seconds.baseline, &self.meter);
        Ok(())
    }

    /// One training, with the held-out R² along it.
    async fn train_one(&self, block: &SolvedBlock<B::Tensor>, setup: &TrainingSetup<'_, B>) -> Result<Vec<CurvePoint>> {
        let Pass { backend, job, out, .. } = *self.pass;
        let TrainingSetup { training, optimiser, rows, table, heldout } = *setup;
        let (index, steps) = (block.report.block, job.training.baseline_steps);
        let random = |purpose| Random::stream(job.protocol.seed, &[purpose, index as u64]);
        let initial = start(training, rows.d_in, rows.d_out, random(START));
        let plan = TrainingPlan { initial, optimiser, random: random(BATCHES) };
        let mut trainer = Trainer::new(backend, table, rows.train(), plan)?;
        let mut curve = Vec::new();
        for stop in stops(steps) {
            while trainer.steps() < stop {
                trainer.step()?;
                if trainer.steps().is_multiple_of(STEPS_AT_ONCE) {
                    backend.batch_end(None).await?;
                    self.meter.reach((self.done + trainer.steps()) as u64).await;
                }
            }
            let error = self.error(&trainer, heldout).await?;
            let value = finite(1.0 - error / block.heldout_variation).filter(|_| block.report.r2_lin.is_some());
            let point = CurvePoint { step: stop, value };
            curve.push(point);
            out.emit(Event::Curve(CurveEvent { block: index, curve: training.name().into(), point })).await;
        }
        Ok(curve)
    }

    /// Σ‖y − Wᵀx − b‖² over the held-out rows, in f64 from their moments.
    async fn error(&self, trainer: &Trainer<'_, B>, heldout: &Moments) -> Result<f64> {
        let network = trainer.network()?;
        let layer = &network.0[0];
        let Some(weight) = &layer.weight else { return Ok(f64::NAN) };
        let weight = self.pass.backend.read(&self.pass.backend.transpose(weight)?).await?;
        let bias = self.pass.backend.read(&layer.bias).await?;
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
        Ok(solve::squared_error(heldout, &wide(weight), &wide(bias)))
    }
}

/// The settings of one training.
struct TrainingSetup<'a, B: Backend> {
    training: BaselineTraining,
    optimiser: Optimiser,
    rows: &'a Captured,
    table: &'a TrainingRows<B::Tensor>,
    heldout: &'a Moments,
}

impl<B: Backend> Clone for TrainingSetup<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for TrainingSetup<'_, B> {}

/// How a training of so many steps moves; `sgd_rate` is the step size of plain gradient descent.
fn optimiser(training: BaselineTraining, sgd_rate: f64, steps: usize) -> Optimiser {
    match training {
        BaselineTraining::Sgd => Optimiser::Sgd { rate: sgd_rate },
        BaselineTraining::AdamwConstant => Optimiser::Adam { rate: ADAMW_RATE, decay: DEFAULT_DECAY, cosine: None },
        BaselineTraining::Adamw => Optimiser::Adam { rate: ADAMW_RATE, decay: ADAMW_DECAY, cosine: Some(steps) },
    }
}

/// W, `(d_out, d_in)`, and b, `(1, d_out)`, at step 0: zero, or drawn as by PyTorch's `nn.Linear`, W first.
fn start(training: BaselineTraining, d_in: usize, d_out: usize, mut random: Random) -> Network<Values> {
    let mut values = |rows, cols| match training {
        BaselineTraining::Sgd | BaselineTraining::Adamw => Values::zeros(rows, cols),
        BaselineTraining::AdamwConstant => Values::uniform(rows, cols, d_in, &mut random),
    };
    let (weight, bias) = (values(d_out, d_in), values(1, d_out));
    Network(vec![Layer { weight: Some(weight), bilinear: None, bias }])
}

/// Moments of the raw training and held-out rows.
async fn raw_moments<B: Backend>(
    backend: &B,
    block: usize,
    rows: &Captured,
    table: &TrainingRows<B::Tensor>,
) -> Result<[Moments; 2]> {
    readout::moments(backend, block, &|x| Ok(x.clone()), table, [&rows.train(), &rows.heldout()]).await
}

/// The largest safe learning rate of plain gradient descent on half the mean squared error: 1/(λ + r²/batch), with λ
/// the largest eigenvalue of the mean of (x, 1)(x, 1)ᵀ and r the longest (x, 1). Full-batch descent would allow 2/λ;
/// the second term bounds the curvature that one rare long row adds to a batch.
fn stable_rate(block: usize, rows: &Captured, train: &Moments) -> Result<f64> {
    let curvature = solve::raw_curvature(block, train)?;
    let count = rows.train().len();
    let squares = |row: &[f32]| 1.0 + row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let longest = rows.x.chunks_exact(rows.d_in).take(count).map(squares).fold(0.0, f64::max);
    Ok((curvature + longest / BATCH.min(count) as f64).recip())
}
