//! `heal`: perplexity after fine-tuning the swapped map and the trained probes, and after the same training of the network
//! itself.
//! `heal_together` has what is fine-tuned together.
//!
//! Gradients are always computed on the CPU, through the whole model, which is loaded for it.

use std::ops::Range;
use std::rc::Rc;

use crate::backend::Backend;
use crate::backend::cpu::CpuBackend;
use crate::corpus::TokenWindows;
use crate::error::Result;
use crate::event::{CurveEvent, Event, Stage};
use crate::forward::Forward;
use crate::job::Measure;
use crate::model;
use crate::platform::random::Random;
use crate::report::{CurvePoint, HealReport, HealedTogether, Warning, WarningKind, finite};
use crate::run::evaluation::{BaseLoss, Evaluation, Loss};
use crate::training::heal::{CpuModel, Healing, HealingText, LEARNING_RATE, Objective};
use crate::weights::Weights;

use super::events::StageMeter;
use super::pass::Pass;
use super::prepared::Prepared;
use super::stops::stops;
use super::sweep::{MeasuredBlock, Swept};

/// Names this use of the job's seed.
const STREAM: u64 = 0x6865_616c;

/// What is trained: the map, the map as in the first paper's code, and the network itself like the first.
const TRAININGS: [&str; 3] = ["linear", "linear_adam", "original"];

/// What maps that are healed together learn, by its name in the report.
pub(super) const OBJECTIVES: [(&str, Objective); 2] =
    [(HealedTogether::STREAMS, Objective::Streams), (HealedTogether::TOKENS, Objective::Tokens)];

/// Everything healing needs that is the same for all trainings.
pub(super) struct HealingContext<'a> {
    pub(super) backend: &'a CpuBackend,
    pub(super) model: &'a CpuModel,
    windows: &'a TokenWindows,
    pub(super) training: Range<usize>,
    pub(super) heldout: Range<usize>,
    evaluation: Evaluation<'a, CpuBackend>,
    /// Loss of the original model.
    pub(super) base: BaseLoss,
    /// Steps of every training.
    pub(super) steps: usize,
    pub(super) seed: u64,
    meter: StageMeter,
}

/// One training of one block.
struct HealingTask<'a> {
    block: usize,
    /// Name in the report.
    name: &'a str,
    text: &'a HealingText,
    /// Windows of every step.
    schedule: &'a [Vec<usize>],
}

impl Prepared {
    /// Fills in `heal` of every block, and heals the first half of orders together.
    pub(super) async fn heal<B: Backend>(&self, pass: &Pass<'_, B>, swept: Swept) -> Result<()> {
        let blocks = if pass.asks(Measure::Heal) { swept.blocks } else { Vec::new() };
        if !self.config.causal {
            explain_missing(pass, blocks);
            return Ok(());
        }
        let steps = self.job.training.heal_steps;
        // The total is known from the first event on, so the first step already allows an estimate of the duration.
        let of_blocks: usize = blocks.iter().map(|block| TRAININGS.len() + block.probes.len()).sum();
        let trainings = of_blocks + OBJECTIVES.len() * swept.halves.len();
        let meter = pass.out.stage(Stage::Heal, (trainings * steps) as u64);
        let backend = CpuBackend::new();
        let weights = Weights::open(self.files.clone()).await?;
        let model = &model::load(&backend, &self.config, &weights, model::ModelParts::WithHead, &|_, _| ()).await?;
        let forward = Forward::new(&backend, model, self.windows.seq_len())?;
        let heldout = self.folds.windows(self.folds.len() - 1);
        let (windows, which) =
            self.eval.as_ref().map_or((&self.windows, heldout.clone()), |(_, eval)| (eval, 0..eval.len()));
        let evaluation = Evaluation::new(&backend, &forward, windows, which).await?;
        let (training, seed) = (0..heldout.start, self.job.protocol.seed);
        let base = BaseLoss::new(Some(evaluation.loss().await?), seed)?;
        let backend = &backend;
        let context = HealingContext {
            backend,
            model,
            windows: &self.windows,
            training,
            heldout,
            evaluation,
            base,
            steps,
            seed,
            meter,
        };
        for block in blocks {
            context.heal_block(pass, block).await?;
        }
        for (name, parts) in &swept.halves {
            context.heal_together(pass, name, parts).await?;
        }
        pass.set_seconds(|seconds| &mut seconds.heal, &context.meter);
        Ok(())
    }
}

impl HealingContext<'_> {
    async fn heal_block<B: Backend>(&self, pass: &Pass<'_, B>, mut swept: MeasuredBlock) -> Result<()> {
        let Some(map) = swept.map.take() else { return Ok(()) };
        let (backend, model, block) = (self.backend, self.model, swept.report.block);
        let text = self.text(block, &self.training).await?;
        let shuffled = text.schedule(self.steps, Random::stream(self.seed, &[STREAM, block as u64]));
        let in_order = text.in_order(self.steps);
        for name in TRAININGS {
            let (healing, schedule) = match name {
                "linear" => (Healing::linear(backend, model, block, &map)?, &shuffled),
                "linear_adam" => (Healing::linear_adam(backend, model, block, &map)?, &in_order),
                _ => (Healing::original(backend, model, block)?, &shuffled),
            };
            let task = HealingTask { block, name, text: &text, schedule };
            let report = self.heal(pass, &task, healing).await?;
            swept.report.heal.insert(name.into(), report);
            pass.out.emit(Event::Block(Box::new(swept.report.clone()))).await;
        }
        for (name, probe) in &swept.probes {
            let part = [(block, Rc::new(probe.upload(backend)?))].into();
            let healing = Healing::together(backend, model, &part, Objective::Tokens)?;
            let task = HealingTask { block, name, text: &text, schedule: &shuffled };
            let report = self.heal(pass, &task, healing).await?;
            swept.report.heal.insert(name.clone(), report);
            pass.out.emit(Event::Block(Box::new(swept.report.clone()))).await;
        }
        Ok(())
    }

    /// Trains through the schedule.
    async fn heal<B: Backend>(
        &self,
        pass: &Pass<'_, B>,
        task: &HealingTask<'_>,
        mut healing: Healing,
    ) -> Result<HealReport> {
        let HealingTask { block, name, text, schedule } = *task;
        let delta_ppl_before = self.base.change(Some(&self.loss(&healing).await?))?;
        let stops = stops(schedule.len().saturating_sub(1));
        for (step, windows) in schedule.iter().enumerate() {
            let loss = self.step(&mut healing, text, windows).await?;
            if stops.contains(&step) {
                let point = CurvePoint { step, value: finite(loss) };
                pass.out.send(Event::Curve(CurveEvent { block, curve: format!("heal_{name}"), point }));
            }
        }
        let after = self.loss(&healing).await?;
        let delta_ppl = self.base.change(Some(&after))?;
        if delta_ppl.is_none() {
            let kind = WarningKind::HealDiverged { replacement: name.to_string() };
            pass.out.warn(Warning::of_block(block, &kind));
        }
        let interval = self.base.interval(Some(&after));
        Ok(HealReport { delta_ppl, delta_ppl_before, steps: schedule.len(), interval })
    }

    /// The windows `which` as they enter `block`.
    pub(super) async fn text(&self, block: usize, which: &Range<usize>) -> Result<HealingText> {
        HealingText::new(self.backend, self.model, block, self.windows, which.clone()).await
    }

    /// One step of a training. Returns the loss before it.
    pub(super) async fn step(&self, healing: &mut Healing, text: &HealingText, windows: &[usize]) -> Result<f64> {
        let loss = healing.step(text, windows, LEARNING_RATE).await?;
        self.meter.advance(1).await;
        Ok(loss)
    }

    /// Current loss.
    pub(super) async fn loss(&self, healing: &Healing) -> Result<Loss> {
        let model = healing.model()?;
        let forward = Forward::new(self.backend, &model, self.evaluation.seq_len())?;
        self.evaluation.of_other(&forward, healing.first(), &healing.parts()?).await
    }
}

/// An encoder has no next token to train on. The warning already says so; the reports get nulls.
fn explain_missing<B: Backend>(pass: &Pass<'_, B>, swept: Vec<MeasuredBlock>) {
    for mut block in swept {
        block.report.heal.extend(TRAININGS.map(|name| (name.to_owned(), HealReport::default())));
        pass.out.send(Event::Block(Box::new(block.report)));
    }
}
