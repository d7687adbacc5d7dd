//! `heal`: perplexity after fine-tuning the swapped map, and after the same training of the network itself.
//!
//! Gradients are always computed on the CPU, through the whole model, which is loaded for it.

use crate::backend::Backend;
use crate::backend::cpu::CpuBackend;
use crate::error::Result;
use crate::event::{CurveEvent, Event, Stage};
use crate::forward::Forward;
use crate::model;
use crate::platform::random::Random;
use crate::report::{CurvePoint, HealReport, Warning, WarningKind, finite};
use crate::run::evaluation::Evaluation;
use crate::training::heal::{Healing, HealingText, LEARNING_RATE};
use crate::weights::Weights;

use super::events::StageMeter;
use super::pass::Pass;
use super::prepared::Prepared;
use super::sweep::MeasuredBlock;

/// Names this use of the job's seed.
const STREAM: u64 = 0x6865_616c;

/// What is trained: the map, the map as in the first paper's code, and the network itself like the first.
const TRAININGS: [&str; 3] = ["linear", "linear_adam", "original"];

/// Everything healing needs that is the same for all blocks.
struct HealingContext<'a> {
    backend: &'a CpuBackend,
    evaluation: Evaluation<'a, CpuBackend>,
    ppl: f64,
    meter: StageMeter,
}

impl Prepared {
    /// Fills in `heal` of every block.
    pub(super) async fn heal<B: Backend>(&self, pass: &Pass<'_, B>, mut swept: Vec<MeasuredBlock>) -> Result<()> {
        if !self.config.causal {
            explain_missing(pass, swept);
            return Ok(());
        }
        let steps = self.job.training.heal_steps;
        // The total is known from the first event on, so the first step already allows an estimate of the duration.
        let meter = pass.out.stage(Stage::Heal, (TRAININGS.len() * steps * swept.len()) as u64);
        let backend = CpuBackend::new();
        let weights = Weights::open(self.files.clone()).await?;
        let model = &model::load(&backend, &self.config, &weights, true, &|_, _| ()).await?;
        let forward = Forward::new(&backend, model, self.windows.seq_len())?;
        let heldout = self.folds.windows(self.folds.len() - 1);
        let training = 0..heldout.start;
        let (windows, which) = self.eval.as_ref().map_or((&self.windows, heldout), |(_, eval)| (eval, 0..eval.len()));
        let evaluation = Evaluation::new(&backend, &forward, windows, which).await?;
        let ppl = evaluation.perplexity().await?;
        let clinic = HealingContext { backend: &backend, evaluation, ppl, meter };

        let mut done = 0;
        for swept in &mut swept {
            let Some(map) = swept.map.take() else { continue };
            let block = swept.report.block;
            let text = HealingText::new(&backend, model, block, &self.windows, training.clone()).await?;
            let shuffled = text.schedule(steps, Random::stream(self.job.protocol.seed, &[STREAM, block as u64]));
            let in_order = text.in_order(steps);
            for name in TRAININGS {
                let (healing, schedule) = match name {
                    "linear" => (Healing::linear(&backend, model, block, &map)?, &shuffled),
                    "linear_adam" => (Healing::linear_adam(&backend, model, block, &map)?, &in_order),
                    _ => (Healing::original(&backend, model, block)?, &shuffled),
                };
                let report = clinic.heal(pass, (block, name), healing, &text, schedule, &mut done).await?;
                swept.report.heal.insert(name.into(), report);
                pass.out.emit(Event::Block(Box::new(swept.report.clone()))).await;
            }
        }
        pass.took(|seconds| &mut seconds.heal, &clinic.meter);
        Ok(())
    }
}

impl HealingContext<'_> {
    /// Trains through the schedule; `done` counts the steps of all blocks.
    async fn heal<B: Backend>(
        &self,
        pass: &Pass<'_, B>,
        (block, name): (usize, &str),
        mut healing: Healing,
        text: &HealingText,
        schedule: &[Vec<usize>],
        done: &mut u64,
    ) -> Result<HealReport> {
        let before = self.delta(&healing, block).await?;
        for (step, windows) in schedule.iter().enumerate() {
            let loss = healing.step(text, windows, LEARNING_RATE).await?;
            let point = CurvePoint { step, value: finite(loss) };
            pass.out.send(Event::Curve(CurveEvent { block, curve: format!("heal_{name}"), point }));
            *done += 1;
            self.meter.reach(*done).await;
        }
        let after = self.delta(&healing, block).await?;
        if after.is_none() {
            let kind = WarningKind::HealDiverged { replacement: name.to_string() };
            pass.out.warn(Warning::of_block(block, &kind));
        }
        Ok(HealReport { delta_ppl: after, delta_ppl_before: before, steps: schedule.len() })
    }

    /// Current perplexity minus that of the original model.
    async fn delta(&self, healing: &Healing, block: usize) -> Result<Option<f64>> {
        let model = healing.model()?;
        let forward = Forward::new(self.backend, &model, self.evaluation.seq_len())?;
        Ok(finite(self.evaluation.of_other(&forward, block, &healing.swaps()?).await? - self.ppl))
    }
}

/// An encoder has no next token to train on. The warning already says so; the reports get nulls.
fn explain_missing<B: Backend>(pass: &Pass<'_, B>, swept: Vec<MeasuredBlock>) {
    for mut block in swept {
        block.report.heal.extend(TRAININGS.map(|name| (name.to_owned(), HealReport::default())));
        pass.out.send(Event::Block(Box::new(block.report)));
    }
}
