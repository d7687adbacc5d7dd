//! Builds the measures of a job, in the order in which they are taken.

use super::{baseline, conjunction, controls, cosine, degrees, probes, swaps};
use crate::backend::Backend;
use crate::baseline::BaselineTraining;
use crate::degrees::HIGHEST;
use crate::error::Result;
use crate::event::Stage;
use crate::job::Measure;
use crate::replacement::probe::Kind;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasures, Source};

impl<'a, B: Backend> Pass<'a, B> {
    /// The job's measures for `blocks` of a model, in the order in which they are taken. `feed` is the model, with its
    /// name, whose rows are fed through this one's networks.
    pub(in crate::run) fn measures(
        &'a self,
        source: Source<'a, B>,
        feed: Option<(&'a str, Source<'a, B>)>,
        blocks: &[usize],
    ) -> Result<BlockMeasures<'a, B>> {
        let Source { layers, checkpoint, .. } = source;
        let mut measures = self.measures_of_rows(blocks.len());
        if self.asks(Measure::Conjunction) {
            let meter = self.out.paused_stage(Stage::Conjunction, blocks.len() as u64);
            measures.push(Box::new(conjunction::Conjunction { pass: self, layers, meter }));
        }
        if self.asks(Measure::Swap) || self.asks(Measure::RankSwap) {
            measures.push(Box::new(swaps::Swaps::new(self, layers, checkpoint.config().hidden_size)?));
        }
        if self.asks(Measure::Controls) {
            measures.push(Box::new(controls::Controls::new(self, source, feed, blocks)));
        }
        Ok(measures)
    }

    /// The job's measures that need only rows.
    pub(in crate::run) fn measures_of_rows(&'a self, blocks: usize) -> BlockMeasures<'a, B> {
        let mut measures: BlockMeasures<'a, B> = vec![Box::new(cosine::Cosine(self))];
        let lists = [(Measure::Probes, Kind::PROBES), (Measure::FurtherProbes, Kind::FURTHER)];
        let kinds: Vec<Kind> =
            lists.into_iter().filter(|(measure, _)| self.asks(*measure)).flat_map(|(_, kinds)| kinds).collect();
        if !kinds.is_empty() {
            let steps = blocks * kinds.len() * self.job.training.seeds * self.job.training.probe_steps;
            let meter = self.out.paused_stage(Stage::Probes, steps as u64);
            measures.push(Box::new(probes::Probes { pass: self, kinds, meter, done: 0 }));
        }
        if self.asks(Measure::Degrees) {
            let meter = self.out.paused_stage(Stage::Degrees, (blocks * HIGHEST) as u64);
            measures.push(Box::new(degrees::Degrees { pass: self, meter, done: 0 }));
        }
        if self.asks(Measure::Baseline) {
            let steps = blocks * BaselineTraining::ALL.len() * self.job.training.baseline_steps;
            let meter = self.out.paused_stage(Stage::Baseline, steps as u64);
            measures.push(Box::new(baseline::Baseline { pass: self, meter, done: 0 }));
        }
        measures
    }
}
