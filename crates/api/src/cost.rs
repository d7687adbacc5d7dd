//! Estimates the duration of a measure before it begins, from the time spent on the rows and the work still to do, as
//! plain data.
//!
//! Work is counted in multiply-adds. The machine's speed is taken from the forward passes and second moments of the
//! same report; estimates are good to a factor of about three. That of healing follows measured steps where there are
//! any.

mod healing;

use crate::baseline::BaselineTraining;
use crate::degrees::{HIGHEST, landmark_counts};
use crate::job::{Measure, Training};
use crate::report::{BlockReport, Report, finite};
use healing::{HealingSteps, WITH_GRADIENTS};

/// Rows of one training step of probes and baseline.
const TRAINING_ROWS: f64 = 256.0;
/// How much longer healing takes for the same arithmetic, because its operations keep all intermediate results: 2.6 times
/// for demo-gpt2, less for wider models.
const HEALING_SLOWDOWN: f64 = 2.0;
/// Width of the bilinear probes.
const BILINEAR_RANK: f64 = 16.0;
/// Overhead of a training step in seconds.
const STEP_SECONDS: f64 = 5e-4;
/// Seconds for timing one network.
const TIMING_SECONDS: f64 = 0.06;
/// Assumed multiply-adds per second of an unknown processor.
const CPU_SPEED: f64 = 1e10;
/// Random splits of the conjunction index.
const SPLITS: f64 = 8.0;
/// Rows of the conjunction index.
const CONJUNCTION_ROWS: f64 = 2048.0;
/// Controls without a second model.
const CONTROLS: f64 = 5.0;
/// Those of them that are drawn, once for every seed.
const DRAWN: f64 = 4.0;

/// Multiply-adds of an eigenvalue decomposition, in units of the cube of its width.
const DECOMPOSITION: f64 = 4.0;

/// The estimated work and duration of a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Total seconds.
    pub seconds: f64,
    /// Measured blocks or layers.
    pub blocks: usize,
    /// Number of perplexities.
    pub perplexities: usize,
    /// Most training steps.
    pub steps: usize,
}

/// Estimates `measure` on the blocks of `report`; `None` before any rows have been measured.
pub fn estimate(report: &Report, measure: Measure, training: &Training) -> Option<Estimate> {
    Workload::new(report)?.estimate(report, measure, training)
}

/// Estimates one block, with the speed measured on all blocks.
pub fn estimate_of_block(report: &Report, block: usize, measure: Measure, training: &Training) -> Option<Estimate> {
    let Workload { speed, pace, .. } = Workload::new(report)?;
    let mut asked = report.clone();
    asked.blocks.retain(|known| known.block == block);
    Workload { speed, pace, ..Workload::new(&asked)? }.estimate(&asked, measure, training)
}

/// Estimates the requested measures of healing, which run last, from the seconds of one of their first steps; `None` if
/// none was requested.
pub fn estimate_of_healing(report: &Report, training: &Training, step: f64) -> Option<Estimate> {
    let asks = |measure| report.ordered.as_ref().is_none_or(|ordered| ordered.measures.contains(&measure));
    let mut work = Workload::new(report)?;
    let first = match asks(Measure::Heal) {
        true => work.steps(report).of(report.blocks.first()?.block, "linear"),
        false => work.steps(report).together(),
    };
    work.pace *= step / work.training_step(report, first);
    let of_blocks = asks(Measure::Heal).then(|| work.heal(report, training));
    let together = asks(Measure::HealTogether).then(|| work.trained_together(report, training));
    let parts = of_blocks.into_iter().chain(together).reduce(|all, more| MeasureCost {
        products: all.products + more.products,
        seconds: all.seconds + more.seconds,
        perplexities: all.perplexities + more.perplexities,
        steps: all.steps + more.steps,
    })?;
    work.total(report.blocks.len(), &parts)
}

/// The work of one measure.
#[derive(Default)]
struct MeasureCost {
    /// Multiply-adds, perplexities excluded.
    products: f64,
    /// Seconds independent of multiply-add speed.
    seconds: f64,
    perplexities: usize,
    steps: usize,
}

/// Sizes of a measurement as f64.
struct Workload {
    /// Width of the residual stream.
    d: f64,
    layers: f64,
    /// Measured blocks.
    blocks: f64,
    rows: f64,
    heldout: f64,
    /// Parameters of one feed-forward network.
    ffn: f64,
    /// Multiply-adds per row through all layers.
    body: f64,
    /// Multiply-adds per row of logits.
    head: f64,
    /// Mean share of the layers rerun by a swap.
    remaining: f64,
    /// Multiply-adds per row for one block's second moments.
    gram: f64,
    /// Multiply-adds per second.
    speed: f64,
    /// Measured time of healing over its estimate; 1 without recorded steps.
    pace: f64,
}

impl Workload {
    fn new(report: &Report) -> Option<Self> {
        let (model, protocol) = (&report.model, &report.protocol);
        let (d, layers) = (model.hidden_size as f64, model.num_hidden_layers as f64);
        let blocks = report.blocks.len() as f64;
        let rows = protocol.rows as f64;
        // With captured rows the network is not run.
        let ffn = model.ffn_parameters.unwrap_or(0) as f64;
        let attention = if ffn > 0.0 { 4.0 * d * d + 2.0 * d * protocol.seq_len as f64 } else { 0.0 };
        let body = layers * (ffn + attention);
        // If the vocabulary is unknown: in a small model the logits are about half of the work.
        let head = model.vocab_size.map_or(body, |vocabulary| vocabulary as f64 * d);
        let after = |block: usize| 1.0 - block as f64 / layers;
        let remaining = report.blocks.iter().map(|block| after(block.block)).sum::<f64>() / blocks;
        // xxᵀ and xyᵀ in double precision.
        let gram = 4.0 * d * d;
        let speed = rows * (body + blocks * gram) / report.seconds.of_rows();
        let usable = blocks > 0.0 && speed.is_finite() && speed > 0.0;
        let heldout = rows / protocol.folds as f64;
        let pace = 1.0;
        let work = Self { d, layers, blocks, rows, heldout, ffn, body, head, remaining, gram, speed, pace };
        usable.then(|| Self { pace: work.measured_pace(report), ..work })
    }

    fn estimate(&self, report: &Report, measure: Measure, training: &Training) -> Option<Estimate> {
        let parts = match measure {
            Measure::Fit => {
                MeasureCost { seconds: report.seconds.of_rows() + report.seconds.solve, ..MeasureCost::default() }
            }
            Measure::Swap => self.swap(),
            Measure::RankSwap => self.rank_swap(),
            Measure::Greedy => self.orders(self.blocks, report),
            Measure::Layers => self.of_layers(report),
            Measure::Prune => self.orders(self.layers, report),
            Measure::Probes => self.probes(training, self.dense_probes()),
            Measure::FurtherProbes => self.probes(training, self.bilinear_probes()),
            Measure::Degrees => self.degrees(),
            Measure::Baseline => self.baseline(training),
            Measure::Conjunction => self.conjunction(),
            Measure::Controls => self.controls(report, training),
            Measure::Heal => self.heal(report, training),
            Measure::HealTogether => self.heal_together(report, training),
        };
        let is_by_layer = matches!(measure, Measure::Layers | Measure::Prune);
        let blocks = if is_by_layer { report.model.num_hidden_layers } else { report.blocks.len() };
        self.total(blocks, &parts)
    }

    /// All parts of a cost in seconds.
    fn total(&self, blocks: usize, parts: &MeasureCost) -> Option<Estimate> {
        let perplexity = self.heldout * (self.remaining * self.body + self.head);
        let products = parts.products + parts.perplexities as f64 * perplexity;
        let seconds = finite(parts.seconds + products / self.speed)?;
        Some(Estimate { seconds, blocks, perplexities: parts.perplexities, steps: parts.steps })
    }

    fn swap(&self) -> MeasureCost {
        // Linear, mean and zero, plus the order by cost; the network and its map are timed.
        MeasureCost {
            perplexities: (4.0 * self.blocks) as usize,
            seconds: 2.0 * self.blocks * TIMING_SECONDS,
            ..MeasureCost::default()
        }
    }

    fn rank_swap(&self) -> MeasureCost {
        let candidates = self.blocks * (self.d.log2().ceil() + 1.0);
        MeasureCost {
            perplexities: candidates as usize,
            seconds: (candidates + self.blocks) * TIMING_SECONDS,
            ..MeasureCost::default()
        }
    }

    /// Two greedy orders over `count` blocks or layers, of which the second fits maps again at every step.
    fn orders(&self, count: f64, report: &Report) -> MeasureCost {
        let candidates = count * (count + 1.0) / 2.0;
        let folds = report.protocol.folds as f64;
        let training = self.rows - self.heldout;
        MeasureCost {
            products: count * training * self.body + candidates * training * self.gram,
            seconds: candidates * report.seconds.solve / self.blocks / folds,
            perplexities: (2.0 * candidates) as usize,
            ..MeasureCost::default()
        }
    }

    fn of_layers(&self, report: &Report) -> MeasureCost {
        let products = self.rows * self.layers * self.gram;
        // Two fits per layer; a block has one per fold.
        let solve = report.seconds.solve / self.blocks * self.layers * 2.0 / report.protocol.folds as f64;
        MeasureCost { products, seconds: solve, perplexities: (2.0 * self.layers) as usize, ..MeasureCost::default() }
    }

    /// Trained parameters of a bilinear term.
    fn bilinear(&self) -> f64 {
        3.0 * BILINEAR_RANK * self.d
    }

    /// Those of `poly`, `dense2x` and `poly2x`.
    fn dense_probes(&self) -> f64 {
        let dense = 2.0 * self.d * self.d;
        self.bilinear() + dense + (dense + 2.0 * self.bilinear())
    }

    /// Those of `poly_rank64`, `poly_joint` and `gate`.
    fn bilinear_probes(&self) -> f64 {
        4.0 * self.bilinear() + (self.d * self.d + self.bilinear()) + self.bilinear()
    }

    /// Three probes with so many parameters, with all steps.
    fn probes(&self, training: &Training, parameters: f64) -> MeasureCost {
        let trained = self.blocks * training.seeds as f64 * training.probe_steps as f64;
        let steps = 3.0 * trained;
        let learned = trained * TRAINING_ROWS * WITH_GRADIENTS * parameters;
        let readout = 3.0 * self.blocks * self.rows * self.gram;
        MeasureCost {
            products: learned + readout,
            seconds: steps * STEP_SECONDS,
            perplexities: (6.0 * self.blocks) as usize,
            steps: steps as usize,
        }
    }

    /// Polynomials of every degree beyond 1: second moments of the most features, and a decomposition for every number.
    fn degrees(&self) -> MeasureCost {
        let counts = landmark_counts(self.d as usize, (self.rows - self.heldout) as usize);
        let features = |count: &usize| self.d + *count as f64;
        let most = counts.last().map_or(self.d, features);
        let moments = self.rows * (most * most / 2.0 + most * self.d);
        let solves: f64 = counts.iter().map(|count| DECOMPOSITION * features(count).powi(3)).sum();
        let products = self.blocks * (HIGHEST - 1) as f64 * (moments + solves);
        MeasureCost { products, ..MeasureCost::default() }
    }

    fn baseline(&self, training: &Training) -> MeasureCost {
        let steps = self.blocks * (BaselineTraining::ALL.len() * training.baseline_steps) as f64;
        let learned = steps * TRAINING_ROWS * WITH_GRADIENTS * self.d * self.d;
        MeasureCost {
            products: learned,
            seconds: steps * STEP_SECONDS,
            steps: steps as usize,
            ..MeasureCost::default()
        }
    }

    fn conjunction(&self) -> MeasureCost {
        let rows = self.heldout.min(CONJUNCTION_ROWS);
        let products = self.blocks * (2.0 * SPLITS + 1.0) * rows * self.ffn;
        MeasureCost { products, ..MeasureCost::default() }
    }

    fn controls(&self, report: &Report, training: &Training) -> MeasureCost {
        let controls = CONTROLS + DRAWN * (training.seeds as f64 - 1.0);
        MeasureCost { seconds: controls * (report.seconds.of_rows() + report.seconds.solve), ..MeasureCost::default() }
    }

    /// Healing trains the map of every block twice, its network, and its probes if they are measured too, always on the
    /// CPU.
    fn heal(&self, report: &Report, training: &Training) -> MeasureCost {
        let trainings = healing::trainings(report);
        let of_block =
            |block: &BlockReport| self.training_step(report, self.steps(report).mean(block.block, trainings));
        let steps = trainings * training.heal_steps as f64;
        MeasureCost {
            seconds: steps * report.blocks.iter().map(of_block).sum::<f64>(),
            perplexities: (trainings * self.blocks) as usize,
            steps: (steps * self.blocks) as usize,
            ..MeasureCost::default()
        }
    }

    /// The orders of refitted maps of networks and layers, and the trainings of the first half of each.
    fn heal_together(&self, report: &Report, training: &Training) -> MeasureCost {
        let (networks, layers) = (self.orders(self.blocks, report), self.orders(self.layers, report));
        let trained = self.trained_together(report, training);
        MeasureCost {
            products: networks.products + layers.products,
            seconds: networks.seconds + layers.seconds + trained.seconds,
            perplexities: (networks.perplexities + layers.perplexities) / 2 + trained.perplexities,
            steps: trained.steps,
        }
    }

    /// Two trainings of the first half of two orders.
    fn trained_together(&self, report: &Report, training: &Training) -> MeasureCost {
        let steps = 4.0 * training.heal_steps as f64;
        MeasureCost {
            seconds: steps * self.training_step(report, self.steps(report).together()),
            perplexities: 6,
            steps: steps as usize,
            ..MeasureCost::default()
        }
    }

    fn steps(&self, report: &Report) -> HealingSteps {
        let Self { layers, body, head, .. } = *self;
        HealingSteps { layers, body, head, window: report.protocol.seq_len as f64 }
    }

    /// Seconds of a training step of `products` multiply-adds through the model, which is always on the CPU.
    fn training_step(&self, report: &Report, products: f64) -> f64 {
        let speed = if report.device.backend == "cpu" { self.speed } else { CPU_SPEED };
        self.pace * (STEP_SECONDS + HEALING_SLOWDOWN * products / speed)
    }

    /// Measured seconds of healing divided by their estimate.
    fn measured_pace(&self, report: &Report) -> f64 {
        let steps = self.steps(report).recorded(report);
        let estimated: f64 = steps.iter().map(|(count, step)| count * self.training_step(report, *step)).sum();
        Some(report.seconds.heal / estimated).filter(|pace| pace.is_finite() && *pace > 0.0).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        AppInfo, CorpusInfo, DeviceInfo, Header, HealReport, HealedTogether, ModelInfo, Ordered, ProtocolInfo, Seconds,
    };

    fn report(blocks: usize) -> Report {
        let model = ModelInfo {
            hidden_size: 64,
            num_hidden_layers: 4,
            ffn_parameters: Some(33_088),
            vocab_size: Some(512),
            ..ModelInfo::default()
        };
        let (corpus, device) = (CorpusInfo::default(), DeviceInfo { backend: "cpu".into(), ..DeviceInfo::default() });
        let protocol = ProtocolInfo::new(&Default::default(), 117, 24, 0.0);
        let ordered = Default::default();
        let header = Header { app: AppInfo::this(), model, corpus, protocol, device, ordered };
        let blocks = (0..blocks).map(|block| BlockReport { block, ..BlockReport::default() }).collect();
        let seconds = Seconds { forward: 2.0, solve: 0.5, ..Seconds::default() };
        Report { blocks, seconds, ..Report::from(header) }
    }

    fn seconds(report: &Report, measure: Measure, training: &Training) -> f64 {
        estimate(report, measure, training).expect("an estimate").seconds
    }

    #[test]
    fn everything_has_a_cost_and_long_things_cost_more() {
        let training = Training::default();
        for measure in Measure::ALL {
            assert!(seconds(&report(4), measure, &training) > 0.0, "{measure}");
        }
        let [few, many] = [1, 4].map(report);
        for measure in [Measure::Swap, Measure::RankSwap, Measure::Greedy, Measure::Probes, Measure::Baseline] {
            assert!(seconds(&many, measure, &training) > 2.0 * seconds(&few, measure, &training), "{measure}");
        }
        let twice = Training { heal_steps: 400, probe_steps: 8000, baseline_steps: 6000, seeds: 1 };
        for measure in [Measure::Heal, Measure::Probes, Measure::FurtherProbes, Measure::Baseline] {
            let (once, twice) = (seconds(&many, measure, &training), seconds(&many, measure, &twice));
            assert!(twice > 1.5 * once && twice <= 2.0 * once, "{measure}: {once} s, {twice} s");
        }
        assert_eq!(estimate(&many, Measure::Heal, &training).expect("an estimate").steps, 3 * 200 * 4);
        assert_eq!(estimate(&many, Measure::Baseline, &training).expect("an estimate").steps, 3 * 3000 * 4);
        assert_eq!(estimate(&many, Measure::Swap, &training).expect("an estimate").perplexities, 16);
        assert_eq!(seconds(&many, Measure::Controls, &training), 12.5, "five times forward and solve");
        let thrice = Training { seeds: 3, ..training };
        assert_eq!(seconds(&many, Measure::Controls, &thrice), 12.5 * 13.0 / 5.0, "four of them are drawn");
        assert!(seconds(&many, Measure::Probes, &thrice) > 2.5 * seconds(&many, Measure::Probes, &training));
    }

    #[test]
    fn probes_that_are_trained_beside_are_healed_too() {
        let training = Training::default();
        let steps = |measures: &[Measure]| {
            let measures = measures.iter().copied().collect();
            let report = Report { ordered: Some(Ordered { measures, ..Ordered::default() }), ..report(4) };
            estimate(&report, Measure::Heal, &training).expect("an estimate").steps
        };
        assert_eq!(steps(&[Measure::Heal, Measure::Probes]), 6 * 200 * 4);
        assert_eq!(steps(&[Measure::Heal, Measure::Probes, Measure::FurtherProbes]), 9 * 200 * 4);
        assert_eq!(steps(&[Measure::Probes]), 3 * 200 * 4, "they are gone before healing");
    }

    #[test]
    fn healing_takes_as_long_as_it_took() {
        // demo-gpt2, 4096 rows: 20 steps of map and original took 1.0 s in block 5 and 4.9 s in block 0. Those of the
        // third training have a quarter of their windows.
        let mut found = report(1);
        found.model = ModelInfo {
            hidden_size: 128,
            num_hidden_layers: 6,
            ffn_parameters: Some(131_712),
            vocab_size: Some(1024),
            ..ModelInfo::default()
        };
        (found.protocol.rows, found.protocol.seq_len) = (4096, 128);
        found.seconds.forward = 0.125;
        let training = Training { heal_steps: 10, ..Training::default() };
        for (block, took) in [(0, 1.25 * 4.9), (5, 1.25 * 1.0)] {
            found.blocks[0].block = block;
            let estimated = seconds(&found, Measure::Heal, &training);
            assert!(
                estimated > took / 2.0 && estimated < 2.0 * took,
                "block {block}: {estimated} s where {took} s passed"
            );
        }
    }

    #[test]
    fn healing_takes_as_long_as_the_steps_that_the_report_has() {
        let training = Training::default();
        let fresh = report(4);
        let mut known = fresh.clone();
        let heal = HealReport { steps: 200, ..HealReport::default() };
        for block in &mut known.blocks {
            block.heal = ["linear", "linear_adam", "original"].map(|name| (name.into(), heal)).into();
        }
        known.seconds.heal = 1e5;
        let again = seconds(&known, Measure::Heal, &training);
        assert!(again > 1e5 && again < 1.01e5, "{again}");
        let times = |measure| seconds(&known, measure, &training) / seconds(&fresh, measure, &training);
        assert!(times(Measure::HealTogether) > 10.0, "the steps are of the same kind");
        assert_eq!(times(Measure::Probes), 1.0);
        let of_block = |block| estimate_of_block(&known, block, Measure::Heal, &training).expect("an estimate").seconds;
        assert!(of_block(0) > of_block(3) && of_block(0) < 0.5e5, "{} {}", of_block(0), of_block(3));
        let sum: f64 = (0..4).map(of_block).sum();
        assert!((sum / again - 1.0).abs() < 0.01, "{sum} for {again}");
        let both = [("streams".to_owned(), None), ("tokens".into(), None)].into();
        let together = HealedTogether { steps: 200, delta_ppl: both, ..HealedTogether::default() };
        known.healed_together = [("greedy_refitted".into(), together)].into();
        assert!(seconds(&known, Measure::Heal, &training) < 0.9 * again, "part of the time went there");
    }

    #[test]
    fn healing_is_estimated_from_its_first_step() {
        let estimated = |measures: &[Measure], step| {
            let measures = measures.iter().copied().collect();
            let report = Report { ordered: Some(Ordered { measures, ..Ordered::default() }), ..report(4) };
            estimate_of_healing(&report, &Training::default(), step)
        };
        let (heal, together) = ([Measure::Heal], [Measure::HealTogether]);
        let all = estimated(&heal, 2.0).expect("an estimate");
        // Steps of later blocks pass fewer layers, and a third of all have fewer windows.
        assert!(all.steps == 2400 && all.seconds < 4800.0 && all.seconds > 2400.0, "{all:?}");
        let half = estimated(&together, 1.0).expect("an estimate");
        assert!(half.steps == 800 && half.seconds >= 800.0 && half.seconds < 810.0, "{half:?}");
        assert_eq!(estimated(&[Measure::Heal, Measure::HealTogether], 2.0).expect("an estimate").steps, 3200);
        assert_eq!(estimated(&[Measure::Swap], 2.0), None);
    }

    #[test]
    fn measures_taken_beside_the_rows_do_not_make_the_machine_slow() {
        let alone = report(4);
        let mut concurrent = report(4);
        (concurrent.seconds.degrees, concurrent.seconds.controls) = (9.0, 6.0);
        concurrent.seconds.forward += 15.0;
        let training = Training::default();
        for measure in [Measure::Fit, Measure::Swap, Measure::Heal, Measure::Controls] {
            let [alone, concurrent] = [&alone, &concurrent].map(|report| seconds(report, measure, &training));
            assert!((concurrent / alone - 1.0).abs() < 1e-9, "{measure}: {alone} s and {concurrent} s");
        }
    }

    #[test]
    fn a_slower_machine_takes_longer() {
        let training = Training::default();
        let (quick, mut slow) = (report(4), report(4));
        slow.seconds.forward *= 10.0;
        for measure in [Measure::Swap, Measure::Layers, Measure::Heal] {
            assert!(seconds(&slow, measure, &training) > 2.0 * seconds(&quick, measure, &training), "{measure}");
        }
    }

    #[test]
    fn nothing_is_known_before_the_first_rows() {
        let mut early = report(4);
        early.seconds.forward = 0.0;
        assert_eq!(estimate(&early, Measure::Heal, &Training::default()), None);
        assert_eq!(estimate(&report(0), Measure::Swap, &Training::default()), None);
    }
}
