//! `probes`: small networks trained on what the affine map leaves over, one block at a time.

use std::rc::Rc;

use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::event::{CurveEvent, Event, Stage};
use crate::probe::network::Network;
use crate::probe::readout::{self, Features};
use crate::probe::train::{CHECK_STEPS, Optimiser, ROWS_AT_ONCE, Stopping, Table, Trainer};
use crate::probe::{Kind, Probe};
use crate::random::Random;
use crate::report::{CurvePoint, ProbeReport, Seconds, finite};
use crate::solve::{self, AffineMap};
use crate::swap::{DeviceMap, Replacement, Swaps};

use super::captured::Captured;
use super::conjunction::{Silenced, conjunction};
use super::events::Meter;
use super::rows::RowSource;
use super::{Evaluated, Pass, Solved};

/// Share of the variance of y below which y − ŷ is rounding, with nothing in it to learn.
const NOISE: f64 = 1e-10;
/// Steps between two moments at which the device is waited for and a cancel is seen.
const STEPS_AT_ONCE: usize = 20;
/// What the random numbers of a probe are for, beside its block.
const INITIAL: u64 = 0x70_72_6f;

/// What a probe of one block learns from.
struct Lesson<'a, B: Backend> {
    block: usize,
    kind: Kind,
    map: &'a DeviceMap<B::Tensor>,
    table: Table<B::Tensor>,
    /// Rows to learn from, to validate on, to solve on, and to score on.
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

/// A network with what it took.
struct Trained<T> {
    network: Network<T>,
    steps: usize,
    curve: Vec<CurvePoint>,
}

/// How far the stage has come.
struct Progress<'a> {
    meter: &'a Meter,
    done: usize,
}

impl<B: Backend> Pass<'_, B> {
    /// Trains and scores every probe of every block; `ffn_parameters` of the networks that they stand for, if known.
    pub(super) async fn probes(
        &self,
        source: &impl RowSource<B>,
        evaluated: Option<&Evaluated<'_, B>>,
        ffn_parameters: Option<usize>,
        solved: &mut [Solved],
        seconds: &mut Seconds,
    ) -> Result<()> {
        let most = self.job.training.probe_steps;
        let meter = self.out.stage(Stage::Probes, (solved.len() * Kind::ALL.len() * most) as u64);
        let mut progress = Progress { meter: &meter, done: 0 };
        for block in solved {
            let (index, folds, protocol) = (block.report.block, self.folds, &self.job.protocol);
            let rows = Captured::new(self.backend, source, index, folds, 0..folds.len(), protocol, &meter).await?;
            let map = DeviceMap::upload(self.backend, &block.map)?;
            let shape = Shape::new(rows.len(), rows.d_in);
            let x = self.backend.upload("x", shape, &standardised(&rows, &block.map))?;
            let silenced = Silenced::new(&rows, &block.map.mean_x, protocol.seed, index);
            for kind in Kind::ALL {
                let (report, probe) = self.probe(kind, block, &map, (&rows, &x), &mut progress).await?;
                let conjunction =
                    conjunction(self.backend, &silenced, &meter, &|x| probe.apply(self.backend, x)).await?;
                let report = ProbeReport { conjunction, ..report };
                let compression = ffn_parameters.and_then(|all| finite(all as f64 / report.parameters as f64));
                if ffn_parameters.is_some() {
                    let delta = self.delta_of(evaluated, index, probe).await?;
                    block.report.delta_ppl.insert(kind.name().into(), delta);
                    block.report.compression.insert(kind.name().into(), compression);
                }
                block.report.probes.insert(kind.name().into(), report);
                self.out.emit(Event::Block(Box::new(block.report.clone()))).await;
            }
        }
        seconds.probes = meter.seconds();
        Ok(())
    }

    /// Change of perplexity with the probe in place of the block's network, where there is a perplexity.
    async fn delta_of(
        &self,
        evaluated: Option<&Evaluated<'_, B>>,
        block: usize,
        probe: Probe<B::Tensor>,
    ) -> Result<Option<f64>> {
        let Some(Evaluated { evaluation, ppl }) = evaluated else { return Ok(None) };
        let swaps = Swaps::from([(block, Replacement::Probe(Rc::new(probe)))]);
        Ok(finite(evaluation.swapped(&swaps).await? - ppl))
    }

    /// Trains one probe, solves its readout and scores it.
    async fn probe(
        &self,
        kind: Kind,
        block: &mut Solved,
        map: &DeviceMap<B::Tensor>,
        (rows, x): (&Captured, &B::Tensor),
        progress: &mut Progress<'_>,
    ) -> Result<(ProbeReport, Probe<B::Tensor>)> {
        let [learn, validate] = rows.learn_and_validate();
        let (train, heldout) = (rows.train(), rows.heldout());
        let target = target(self.backend, kind, &block.map, map, rows, &train).await?;
        let shape = Shape::new(rows.len(), rows.d_out);
        let lesson = Lesson::<B> {
            block: block.report.block,
            kind,
            map,
            table: Table { x: x.clone(), target: self.backend.upload("target", shape, &target.values)? },
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
        let trained = self.train(&lesson, progress).await?;
        block.report.curves.insert(kind.name().into(), trained.curve);
        let (probe, error) = self.read_out(&lesson, &trained.network).await?;
        let r2 = finite(1.0 - error / block.heldout_variation).filter(|_| block.report.r2_lin.is_some());
        let gain = r2.zip(block.report.r2_lin).map(|(r2, linear)| r2 - linear);
        let parameters = kind.parameters(rows.d_in, rows.d_out);
        Ok((ProbeReport { r2, gain, steps: trained.steps, parameters, conjunction: None }, probe))
    }

    /// Trains until the error on the validation rows stays, or the steps are used up.
    async fn train(&self, lesson: &Lesson<'_, B>, progress: &mut Progress<'_>) -> Result<Trained<B::Tensor>> {
        let most = self.job.training.probe_steps;
        let path = |purpose: u64| [INITIAL, lesson.block as u64, lesson.kind as u64, purpose];
        let random = |purpose| Random::stream(self.job.protocol.seed, &path(purpose));
        let initial = lesson.kind.initial(lesson.d_in, lesson.d_out, &mut random(0));
        let (learn, table) = (lesson.learn.to_vec(), &lesson.table);
        let mut trainer = Trainer::new(self.backend, table, learn, &initial, Optimiser::PROBE, random(1))?;
        let mut curve = Vec::new();
        let mut stopping: Option<Stopping<B::Tensor>> = None;
        let begun = progress.done;
        loop {
            let error = trainer.squared_error(lesson.validate).await?;
            let point = CurvePoint { step: trainer.steps(), value: finite(1.0 - error / lesson.variation) };
            curve.push(point);
            let (block, name) = (lesson.block, lesson.kind.name());
            self.out.emit(Event::Curve(CurveEvent { block, curve: name.into(), point })).await;
            let stopping = match &mut stopping {
                Some(stopping) => {
                    stopping.look(error, trainer.network()?);
                    stopping
                }
                None => stopping.insert(Stopping::new(error, trainer.network()?)),
            };
            if !lesson.worth_training || stopping.has_converged() {
                break;
            }
            if trainer.steps() >= most {
                let text = format!(
                    "block {block}: {name} was still improving after {most} steps; its R² is a lower bound, allow more --probe-steps"
                );
                self.out.warn("probe_steps", Some(block), text);
                break;
            }
            for _ in 0..CHECK_STEPS.min(most - trainer.steps()) {
                trainer.step()?;
                if trainer.steps().is_multiple_of(STEPS_AT_ONCE) {
                    self.backend.settle(&mut []).await?;
                    progress.meter.reach((begun + trainer.steps()) as u64).await;
                }
            }
        }
        progress.done = begun + most;
        progress.meter.reach(progress.done as u64).await;
        let steps = trainer.steps();
        let network = match stopping {
            Some(stopping) => stopping.best(),
            None => trainer.network()?,
        };
        Ok(Trained { network, steps, curve })
    }

    /// The probe in raw units with its closed-form readout, and its squared error on the held-out rows.
    async fn read_out(&self, lesson: &Lesson<'_, B>, network: &Network<B::Tensor>) -> Result<(Probe<B::Tensor>, f64)> {
        let features = Features::new(self.backend, network)?;
        let sets = [lesson.train, lesson.heldout];
        let of = |x: &B::Tensor| features.of(self.backend, x);
        let [train, heldout] = readout::moments(self.backend, lesson.block, &of, &lesson.table, sets).await?;
        let readout = solve::solve_readout(lesson.block, &train, &heldout)?;
        let raw = AffineMap {
            weight: readout.map.weight.iter().map(|weight| weight * lesson.scale).collect(),
            mean_y: readout.map.mean_y.iter().zip(&lesson.mean).map(|(y, mean)| y * lesson.scale + mean).collect(),
            ..readout.map
        };
        let readout_map = DeviceMap::upload(self.backend, &raw)?;
        let frozen_map = lesson.kind.has_frozen_map();
        let probe = Probe { map: lesson.map.clone(), frozen_map, features, readout: readout_map };
        Ok((probe, readout.heldout_error * lesson.scale.powi(2)))
    }
}

/// What a probe is to explain, in units in which its training variance is 1 per feature.
struct Target {
    values: Vec<f32>,
    mean: Vec<f64>,
    scale: f64,
    worth_training: bool,
}

/// (y − ŷ)/scale for a probe with a frozen map, (y − ȳ)/scale for any other. One scale for all features keeps the
/// error that training sees proportional to 1 − R².
async fn target<B: Backend>(
    backend: &B,
    kind: Kind,
    affine: &AffineMap,
    map: &DeviceMap<B::Tensor>,
    rows: &Captured,
    train: &[u32],
) -> Result<Target> {
    let (d, mean) = (rows.d_out, &affine.mean_y);
    let centred: Vec<f32> = rows.y.iter().enumerate().map(|(i, &y)| (f64::from(y) - mean[i % d]) as f32).collect();
    let spread = |values: &[f32]| {
        let squares: f64 = values[..train.len() * d].iter().map(|&value| f64::from(value).powi(2)).sum();
        (squares / (train.len() * d) as f64).sqrt()
    };
    let all = spread(&centred);
    let (mut values, mean) = match kind.has_frozen_map() {
        true => (residuals(backend, map, rows).await?, vec![0.0; d]),
        false => (centred, mean.clone()),
    };
    let scale = Some(spread(&values)).filter(|scale| *scale > 0.0).unwrap_or(1.0);
    let share = spread(&values).powi(2) / all.powi(2);
    values.iter_mut().for_each(|value| *value = (f64::from(*value) / scale) as f32);
    Ok(Target { values, mean, scale, worth_training: share > NOISE })
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
fn standardised(rows: &Captured, map: &AffineMap) -> Vec<f32> {
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
