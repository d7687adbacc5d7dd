//! Estimates the duration of a measure before it begins, from the time spent on the rows and the work still to do, as
//! plain data.
//!
//! Work is counted in multiply-adds. The machine's speed is taken from the forward passes and second moments of the
//! same report; estimates are good to a factor of about three.

use crate::baseline::BaselineTraining;
use crate::degrees::{HIGHEST, landmark_counts};
use crate::event::Stage;
use crate::job::{Measure, Training};
use crate::probes;
use crate::report::{Report, finite};

/// Rows of one training step of probes and baseline.
const TRAINING_ROWS: f64 = 256.0;
/// Windows of one step of the three trainings of healing, together.
const HEALING_WINDOWS: f64 = 8.0 + 4.0 + 8.0;
/// How much longer healing takes for the same arithmetic, because its operations keep all intermediate results: 2.6 times
/// for demo-gpt2, less for wider models.
const HEALING_SLOWDOWN: f64 = 2.0;
/// Cost of forward and backward pass relative to the forward pass.
const WITH_GRADIENTS: f64 = 3.0;
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

/// The measures of a stage long enough to announce that begins after all blocks are measured, of those that a report's
/// measurement asks for.
pub fn announced(stage: Stage, report: &Report) -> Vec<Measure> {
    let asks = |measure: &Measure| report.ordered.as_ref().is_none_or(|ordered| ordered.measures.contains(measure));
    [Measure::Heal, Measure::HealTogether].into_iter().filter(|_| stage == Stage::Heal).filter(asks).collect()
}

/// Estimates `measure` on the blocks of `report`; `None` before any rows have been measured.
pub fn estimate(report: &Report, measure: Measure, training: &Training) -> Option<Estimate> {
    let work = Workload::new(report)?;
    let parts = match measure {
        Measure::Fit => {
            MeasureCost { seconds: report.seconds.of_rows() + report.seconds.solve, ..MeasureCost::default() }
        }
        Measure::Swap => work.swap(),
        Measure::RankSwap => work.rank_swap(),
        Measure::Greedy => work.orders(work.blocks, report),
        Measure::Layers => work.layers(report),
        Measure::Prune => work.orders(work.layers, report),
        Measure::Probes => work.probes(training, work.dense_probes()),
        Measure::FurtherProbes => work.probes(training, work.bilinear_probes()),
        Measure::Degrees => work.degrees(),
        Measure::Baseline => work.baseline(training),
        Measure::Conjunction => work.conjunction(),
        Measure::Controls => work.controls(report, training),
        Measure::Heal => work.heal(report, training),
        Measure::HealTogether => work.heal_together(report, training),
    };
    let blocks = if matches!(measure, Measure::Layers | Measure::Prune) {
        report.model.num_hidden_layers
    } else {
        report.blocks.len()
    };
    let perplexity = work.heldout * (work.remaining * work.body + work.head);
    let products = parts.products + parts.perplexities as f64 * perplexity;
    let seconds = finite(parts.seconds + products / work.speed)?;
    Some(Estimate { seconds, blocks, perplexities: parts.perplexities, steps: parts.steps })
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
        usable.then_some(Self { d, layers, blocks, rows, heldout, ffn, body, head, remaining, gram, speed })
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

    fn layers(&self, report: &Report) -> MeasureCost {
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
        let asks = |measure| report.ordered.as_ref().is_some_and(|ordered| ordered.measures.contains(&measure));
        let count = |measure, names: &[&str]| if asks(measure) && asks(Measure::Heal) { names.len() } else { 0 };
        let probes = count(Measure::Probes, &probes::NAMES) + count(Measure::FurtherProbes, &probes::FURTHER);
        let (trainings, probes) = (3.0 + probes as f64, probes as f64);
        let steps = trainings * self.blocks * training.heal_steps as f64;
        let step_rows = (HEALING_WINDOWS + 8.0 * probes) / trainings * report.protocol.seq_len as f64;
        let step = step_rows * WITH_GRADIENTS * (self.remaining * self.body + self.head);
        MeasureCost {
            seconds: steps * self.training_step(report, step),
            perplexities: (trainings * self.blocks) as usize,
            steps: steps as usize,
            ..MeasureCost::default()
        }
    }

    /// The orders of refitted maps of networks and layers, and two trainings of the first half of each. The streams of
    /// the untouched model are computed beside one of them.
    fn heal_together(&self, report: &Report, training: &Training) -> MeasureCost {
        let (networks, layers) = (self.orders(self.blocks, report), self.orders(self.layers, report));
        let steps = 4.0 * training.heal_steps as f64;
        let step_rows = 8.0 * report.protocol.seq_len as f64;
        let step = step_rows * (WITH_GRADIENTS + 0.5) * (self.body + self.head);
        MeasureCost {
            products: networks.products + layers.products,
            seconds: networks.seconds + layers.seconds + steps * self.training_step(report, step),
            perplexities: (networks.perplexities + layers.perplexities) / 2 + 6,
            steps: steps as usize,
        }
    }

    /// Seconds of a training step of `products` multiply-adds through the model, which is always on the CPU.
    fn training_step(&self, report: &Report, products: f64) -> f64 {
        let speed = if report.device.backend == "cpu" { self.speed } else { CPU_SPEED };
        STEP_SECONDS + HEALING_SLOWDOWN * products / speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        AppInfo, BlockReport, CorpusInfo, DeviceInfo, Header, ModelInfo, Ordered, ProtocolInfo, Seconds,
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
