//! `probes` and `further-probes`: small networks trained on what the affine map misses, one block at a time.

use futures::FutureExt;

use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::event::{CurveEvent, Event};
use crate::platform::random::Random;
use crate::replacement::device_map::DeviceMap;
use crate::replacement::probe::network::Network;
use crate::replacement::probe::readout::{self, Features};
use crate::replacement::probe::train::{
    CHECK_STEPS, Optimiser, ROWS_AT_ONCE, Stopping, Trainer, TrainingPlan, TrainingRows,
};
use crate::replacement::probe::{Kind, Probe, Values};
use crate::replacement::swap::Replacement;
use crate::report::{CurvePoint, ProbeReport, Warning, WarningKind, finite};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Visit, WindowSums};
use crate::solve::{self, AffineMap};
use crate::stats::bootstrap::Resamples;

use super::captured::Captured;
use super::conjunction::{MaskedRows, conjunction};

/// Share of the variance of y below which y − ŷ is only rounding error.
const NOISE: f64 = 1e-10;
/// Steps between two waits for the device, where a cancel takes effect.
const STEPS_AT_ONCE: usize = 20;
/// Separates this use of the seed from others.
const INITIAL: u64 = 0x70_72_6f;

/// The data a probe of one block is trained and scored on.
struct ProbeRows<'a, B: Backend> {
    block: usize,
    kind: Kind,
    seed: u64,
    affine: &'a AffineMap,
    map: &'a DeviceMap<B::Tensor>,
    table: TrainingRows<B::Tensor>,
    /// Ids of rows to learn from, to validate on, to solve the readout on, and to score on.
    learn: &'a [u32],
    validate: &'a [u32],
    train: &'a [u32],
    heldout: &'a [u32],
    d_in: usize,
    d_out: usize,
    /// The target is (y − mean)/scale, or (y − ŷ)/scale with a mean of 0.
    mean: Vec<f64>,
    scale: f64,
    /// Σ‖y − ȳ‖² over the validation rows, in units of the target.
    variation: f64,
    /// Whether the target is more than rounding.
    worth_training: bool,
}

/// A trained network with its number of steps and its curve.
struct TrainedNetwork<T> {
    network: Network<T>,
    steps: usize,
    curve: Vec<CurvePoint>,
}

/// Trains and scores the probes of every block.
pub(super) struct Probes<'a, B: Backend> {
    pub(super) pass: &'a Pass<'a, B>,
    pub(super) kinds: Vec<Kind>,
    pub(super) meter: StageMeter,
    /// Steps of earlier probes.
    pub(super) done: usize,
}

/// Σ (mean of an output − mean of all outputs)².
fn offsets(means: &[f64]) -> f64 {
    let all = means.iter().sum::<f64>() / means.len() as f64;
    means.iter().map(|mean| (mean - all).powi(2)).sum()
}

impl<B: Backend> BlockMeasure<B> for Probes<'_, B> {
    fn needs_all_rows(&self) -> bool {
        true
    }

    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.probes(visit, solved).boxed_local()
    }
}

impl<B: Backend> Probes<'_, B> {
    async fn probes(&mut self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        self.meter.resume();
        let Pass { backend, job, folds, out, .. } = *self.pass;
        let rows = Captured::of(visit, folds, &job.protocol).await?;
        let map = DeviceMap::upload(backend, &solved.map)?;
        let x = backend.upload("x", Shape::new(rows.len(), rows.d_in), &standardised(&rows, &solved.map))?;
        let silenced = MaskedRows::new(&rows, &solved.map.mean_x, job.protocol.seed, visit.index);
        let mean = solved.heldout_mean.clone();
        let of_map =
            WindowSums::of(backend, &mut visit.heldout(), &job.protocol, &mean, &|x| map.apply(backend, x)).await?;
        let resamples = Resamples::new(of_map.windows(), job.protocol.seed);
        for kind in self.kinds.clone() {
            let mut seeds = job.training.seeds_from(job.protocol.seed);
            let first = seeds.next().unwrap_or(job.protocol.seed);
            let (mut report, probe, curve) = self.probe((kind, first), solved, &map, (&rows, &x)).await?;
            solved.report.curves.insert(kind.name().into(), curve);
            let mut gains = vec![report.gain];
            for seed in seeds {
                gains.push(self.probe((kind, seed), solved, &map, (&rows, &x)).await?.0.gain);
            }
            if gains.len() > 1 {
                solved.report.seeds.insert(format!("gain_{}", kind.name()), gains);
            }
            let sums =
                WindowSums::of(backend, &mut visit.heldout(), &job.protocol, &mean, &|x| probe.apply(backend, x))
                    .await?;
            report.cosine = sums.cosine(&job.protocol).filter(|_| solved.report.cosine.is_some());
            if report.gain.is_some() {
                let of_windows = [of_map.errors(), sums.errors(), sums.totals()];
                let gain = |[map, probe, totals]: [f64; 3]| (map - probe) / totals;
                let found = resamples.uncertainty(of_windows, gain);
                solved.report.add_uncertainty(format!("gain_{}", kind.name()), found);
            }
            let conjunction = conjunction(backend, &silenced, &self.meter, &|x| probe.apply(backend, x)).await?;
            let report = ProbeReport { conjunction, ..report };
            if let Some(all) = self.pass.ffn_parameters {
                solved.report.compression.insert(kind.name().into(), finite(all as f64 / report.parameters as f64));
                solved.replace(self.pass, kind.name(), Replacement::Probe(Box::new(probe)));
            }
            solved.report.probes.insert(kind.name().into(), report);
            out.emit(Event::Block(Box::new(solved.report.clone()))).await;
        }
        self.meter.pause();
        self.pass.set_seconds(|seconds| &mut seconds.probes, &self.meter);
        Ok(())
    }

    /// Trains one probe, solves its readout and scores it; the last of the three is the curve of its training.
    async fn probe(
        &mut self,
        (kind, seed): (Kind, u64),
        block: &SolvedBlock<B::Tensor>,
        map: &DeviceMap<B::Tensor>,
        (rows, x): (&Captured, &B::Tensor),
    ) -> Result<(ProbeReport, Probe<B::Tensor>, Vec<CurvePoint>)> {
        let [learn, validate] = rows.learn_and_validate();
        let (train, heldout) = (rows.train(), rows.heldout());
        let target = self.target(kind, (&block.map, map), rows).await?;
        let shape = Shape::new(rows.len(), rows.d_out);
        let lesson = ProbeRows::<B> {
            block: block.report.block,
            kind,
            seed,
            affine: &block.map,
            map,
            table: TrainingRows { x: x.clone(), target: self.pass.backend.upload("target", shape, &target.values)? },
            learn: &learn,
            validate: &validate,
            train: &train,
            heldout: &heldout,
            d_in: rows.d_in,
            d_out: rows.d_out,
            variation: variation(rows, &validate) / target.scale.powi(2),
            mean: target.mean,
            scale: target.scale,
            worth_training: target.worth_training,
        };
        let trained = self.train(&lesson).await?;
        let (probe, error) = self.read_out(&lesson, &trained.network).await?;
        let r2 = finite(1.0 - error / block.heldout_variation).filter(|_| block.report.r2_lin.is_some());
        let gain = r2.zip(block.report.r2_lin).map(|(r2, linear)| r2 - linear);
        let about_one_mean = block.heldout_variation + heldout.len() as f64 * offsets(&block.heldout_mean);
        let scalar = finite(1.0 - error / about_one_mean).filter(|_| r2.is_some());
        let gain_scalar = scalar.zip(block.report.r2_lin_scalar).map(|(r2, linear)| r2 - linear);
        let (parameters, steps) = (kind.parameters(rows.d_in, rows.d_out), trained.steps);
        let rmse = finite((error / (heldout.len() * rows.d_out) as f64).sqrt());
        let report = ProbeReport { r2, gain, gain_scalar, rmse, steps, parameters, ..ProbeReport::default() };
        Ok((report, probe, trained.curve))
    }

    /// (y − ŷ)/scale for a probe with a frozen map, (y − ȳ)/scale for any other. With one scale for all features the
    /// training loss is proportional to 1 − R².
    async fn target(
        &self,
        kind: Kind,
        (affine, map): (&AffineMap, &DeviceMap<B::Tensor>),
        rows: &Captured,
    ) -> Result<ProbeTarget> {
        let (d, mean, train) = (rows.d_out, &affine.mean_y, rows.train().len());
        let centred: Vec<f32> = rows.y.iter().enumerate().map(|(i, &y)| (f64::from(y) - mean[i % d]) as f32).collect();
        let spread = |values: &[f32]| {
            let squares: f64 = values[..train * d].iter().map(|&value| f64::from(value).powi(2)).sum();
            (squares / (train * d) as f64).sqrt()
        };
        let all = spread(&centred);
        let (mut values, mean) = match kind.has_frozen_map() {
            true => (residuals(self.pass.backend, map, rows).await?, vec![0.0; d]),
            false => (centred, mean.clone()),
        };
        let scale = Some(spread(&values)).filter(|scale| *scale > 0.0).unwrap_or(1.0);
        let share = spread(&values).powi(2) / all.powi(2);
        values.iter_mut().for_each(|value| *value = (f64::from(*value) / scale) as f32);
        Ok(ProbeTarget { values, mean, scale, worth_training: share > NOISE })
    }

    /// Trains until the validation error stops improving, or the steps are used up.
    async fn train(&mut self, lesson: &ProbeRows<'_, B>) -> Result<TrainedNetwork<B::Tensor>> {
        let most = self.pass.job.training.probe_steps;
        let path = |purpose: u64| [INITIAL, lesson.block as u64, lesson.kind as u64, purpose];
        let random = |purpose| Random::stream(lesson.seed, &path(purpose));
        let mut initial = lesson.kind.initial(lesson.d_in, lesson.d_out, &mut random(0));
        if lesson.kind.starts_at_map() {
            // x̃ and the target have mean 0, so that the map has no bias.
            initial.0[0].weight = Some(linear_part(lesson.affine, lesson.scale));
            initial.0[0].bias = Values::zeros(1, lesson.d_out);
        }
        let plan = TrainingPlan { initial, optimiser: Optimiser::PROBE, random: random(1) };
        let mut trainer = Trainer::new(self.pass.backend, &lesson.table, lesson.learn.to_vec(), plan)?;
        let mut curve = Vec::new();
        let mut stopping: Option<Stopping<B::Tensor>> = None;
        let begun = self.done;
        loop {
            let error = trainer.squared_error(lesson.validate).await?;
            let point = CurvePoint { step: trainer.steps(), value: finite(1.0 - error / lesson.variation) };
            curve.push(point);
            let (block, name) = (lesson.block, lesson.kind.name());
            if lesson.seed == self.pass.job.protocol.seed {
                self.pass.out.emit(Event::Curve(CurveEvent { block, curve: name.into(), point })).await;
            }
            let stopping = match &mut stopping {
                Some(stopping) => {
                    stopping.observe(error, trainer.network()?);
                    stopping
                }
                None => stopping.insert(Stopping::new(error, trainer.network()?)),
            };
            if !lesson.worth_training || stopping.has_converged() {
                break;
            }
            if trainer.steps() >= most {
                let kind = WarningKind::ProbeSteps { name: name.into(), steps: most };
                self.pass.out.warn(Warning::of_block(block, &kind));
                break;
            }
            for _ in 0..CHECK_STEPS.min(most - trainer.steps()) {
                trainer.step()?;
                if trainer.steps().is_multiple_of(STEPS_AT_ONCE) {
                    self.pass.backend.batch_end(None).await?;
                    self.meter.reach((begun + trainer.steps()) as u64).await;
                }
            }
        }
        self.done = begun + most;
        self.meter.reach(self.done as u64).await;
        let steps = trainer.steps();
        let network = match stopping {
            Some(stopping) => stopping.best(),
            None => trainer.network()?,
        };
        Ok(TrainedNetwork { network, steps, curve })
    }

    /// The probe in raw units with its closed-form readout, and its squared error on the held-out rows.
    async fn read_out(
        &self,
        lesson: &ProbeRows<'_, B>,
        network: &Network<B::Tensor>,
    ) -> Result<(Probe<B::Tensor>, f64)> {
        let features = Features::new(self.pass.backend, network)?;
        let sets = [lesson.train, lesson.heldout];
        let of = |x: &B::Tensor| features.of(self.pass.backend, x);
        let [train, heldout] = readout::moments(self.pass.backend, lesson.block, &of, &lesson.table, sets).await?;
        let readout = solve::solve_readout(lesson.block, &train, &heldout)?;
        let raw = AffineMap {
            weight: readout.map.weight.iter().map(|weight| weight * lesson.scale).collect(),
            mean_y: readout.map.mean_y.iter().zip(&lesson.mean).map(|(y, mean)| y * lesson.scale + mean).collect(),
            ..readout.map
        };
        let readout_map = DeviceMap::upload(self.pass.backend, &raw)?;
        let frozen_map = lesson.kind.has_frozen_map();
        let probe = Probe { map: lesson.map.clone(), frozen_map, features, readout: readout_map };
        Ok((probe, readout.heldout_error * lesson.scale.powi(2)))
    }
}

/// A probe's target, in units in which its training variance is 1 per feature.
struct ProbeTarget {
    values: Vec<f32>,
    mean: Vec<f64>,
    scale: f64,
    worth_training: bool,
}

/// The affine map of x̃ to (y − ȳ)/scale, `(d_out, d_in)`.
fn linear_part(map: &AffineMap, scale: f64) -> Values {
    let (d_in, d_out) = (map.mean_x.len(), map.mean_y.len());
    let weight = |j: usize, i: usize| (map.weight[i * d_out + j] * map.deviation_x[i] / scale) as f32;
    let data = (0..d_out).flat_map(|j| (0..d_in).map(move |i| weight(j, i))).collect();
    Values { shape: Shape::new(d_out, d_in), data }
}

/// y − ŷ of every row, as the device computes it.
async fn residuals<B: Backend>(backend: &B, map: &DeviceMap<B::Tensor>, rows: &Captured) -> Result<Vec<f32>> {
    let mut all = Vec::with_capacity(rows.y.len());
    let chunks = rows.x.chunks(ROWS_AT_ONCE * rows.d_in).zip(rows.y.chunks(ROWS_AT_ONCE * rows.d_out));
    for (x, y) in chunks {
        let count = x.len() / rows.d_in;
        let x = backend.upload("x", Shape::new(count, rows.d_in), x)?;
        let y = backend.upload("y", Shape::new(count, rows.d_out), y)?;
        let residual = backend.combine(&y, 1.0, &map.apply(backend, &x)?, -1.0)?;
        all.extend(backend.read(&residual).await?);
    }
    Ok(all)
}

/// x̃ = (x − x̄)/σ of every row.
pub(super) fn standardised(rows: &Captured, map: &AffineMap) -> Vec<f32> {
    let d = rows.d_in;
    let standard = |(i, &x): (usize, &f32)| ((f64::from(x) - map.mean_x[i % d]) / map.deviation_x[i % d]) as f32;
    rows.x.iter().enumerate().map(standard).collect()
}

/// Σ‖y − ȳ‖² over some rows about their own mean.
fn variation(rows: &Captured, ids: &[u32]) -> f64 {
    let d = rows.d_out;
    let row = |id: &u32| &rows.y[*id as usize * d..][..d];
    let (mut sums, mut squares) = (vec![0.0; d], 0.0);
    let first = ids.first().map_or_else(|| vec![0.0; d], |id| row(id).to_vec());
    for id in ids {
        for ((sum, &y), &shift) in sums.iter_mut().zip(row(id)).zip(&first) {
            let value = f64::from(y) - f64::from(shift);
            *sum += value;
            squares += value * value;
        }
    }
    squares - sums.iter().map(|sum| sum * sum / ids.len() as f64).sum::<f64>()
}
