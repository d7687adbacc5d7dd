//! Progress in the lesson, derived from the state of the examples and the instrument.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use straightedge_api::job::Measure;

use super::activation::Activation;
use super::exercises::Exercise;
use super::traps::Trap;
use super::{Bench, Step};
use crate::comparison::presets::Preset;
use crate::state::order_status::Phase;
use crate::state::run::Run;
use crate::state::views::{View, is_complete};

/// State of the instrument.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The measurement.
    pub run: &'a Run,
    /// The view that is open.
    pub view: View,
    /// The preset shown, if any.
    pub preset: Option<Preset>,
}

/// Progress so far; it never goes back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub(super) done: BTreeSet<Step>,
    pub(super) traps: BTreeSet<Trap>,
    pub(super) presets: HashSet<Preset>,
    pub(super) views: HashSet<View>,
    pub(super) answered: BTreeSet<Exercise>,
    /// The values with which steps were done; see [`super::summary`].
    pub(super) found: BTreeMap<Step, Vec<f64>>,
}

/// Comparisons that show what was learned.
pub const PRESETS: [Preset; 3] = [Preset::Learned, Preset::Training, Preset::Seeds];
/// Views that distinguish the two regimes.
pub const VIEWS: [View; 2] = [View::Regimes, View::Ranks];

impl Progress {
    /// Updates from the settings of the examples.
    pub fn update_from_examples(&mut self, bench: &Bench) {
        let open = bench.traps.open;
        if !self.traps.contains(&open) && bench.traps.shows(open) {
            self.traps.insert(open);
        }
        let is_reached = |step: &Step| match step {
            Step::Network => bench.network.activation == Activation::Identity,
            Step::Line => bench.hand.is_straight(),
            Step::Many => bench.many.scores().held_out < 0.0,
            Step::Traps => self.traps.len() == Trap::ALL.len(),
            _ => false,
        };
        let reached: Vec<_> = self.missing().filter(is_reached).collect();
        self.finish(reached, |step| found_in_example(step, bench));
    }

    /// Updates from the instrument, and from the answers about it.
    pub fn update_from_page(&mut self, Shown { run, view, preset }: Shown, answers: &BTreeMap<Exercise, String>) {
        self.presets.extend(preset.filter(|preset| view == View::Compare && PRESETS.contains(preset)));
        self.views.extend(Some(view).filter(|view| VIEWS.contains(view) && !run.blocks().is_empty()));
        let is_right = |exercise: &Exercise| {
            answers.get(exercise).is_some_and(|answer| exercise.is_right(answer, run.report()) == Some(true))
        };
        self.answered.extend(Exercise::CHECKED.into_iter().filter(is_right));
        let is_reached = |step: &Step| match step {
            Step::Measure => was_measured(run),
            Step::Swap => {
                let is_swapped = run.report().is_some_and(|report| is_complete(Measure::Swap, report));
                was_measured(run) && is_swapped && view == View::Losses
            }
            Step::Learned => PRESETS.iter().all(|preset| self.presets.contains(preset)),
            Step::Regimes => VIEWS.iter().all(|view| self.views.contains(view)),
            Step::Exercises => self.answered.len() == Exercise::CHECKED.len(),
            _ => false,
        };
        let reached: Vec<_> = self.missing().filter(is_reached).collect();
        self.finish(reached, |step| found_in_run(step, run));
    }

    /// Marks steps as done, with the values found there.
    fn finish(&mut self, steps: Vec<Step>, found: impl Fn(Step) -> Vec<f64>) {
        let values = |step: &Step| Some((*step, found(*step))).filter(|(_, values)| !values.is_empty());
        self.found.extend(steps.iter().filter_map(values));
        self.done.extend(steps);
    }

    fn missing(&self) -> impl Iterator<Item = Step> {
        Step::ALL.into_iter().filter(|step| !self.is_done(*step))
    }

    /// Whether a step was reached.
    pub fn is_done(&self, step: Step) -> bool {
        self.done.contains(&step)
    }

    /// Number of steps reached.
    pub fn count(&self) -> usize {
        self.done.len()
    }

    /// Whether a trap has shown its effect.
    pub fn has_shown(&self, trap: Trap) -> bool {
        self.traps.contains(&trap)
    }

    /// The first trap that has not yet, or the last.
    pub fn next_trap(&self) -> Trap {
        Trap::ALL.into_iter().find(|trap| !self.traps.contains(trap)).unwrap_or(Trap::Baseline)
    }

    /// The first comparison not yet viewed, or the last.
    pub fn next_preset(&self) -> Preset {
        PRESETS.into_iter().find(|preset| !self.presets.contains(preset)).unwrap_or(Preset::Seeds)
    }

    /// The first view not yet opened, or the last.
    pub fn next_view(&self) -> View {
        VIEWS.into_iter().find(|view| !self.views.contains(view)).unwrap_or(View::Ranks)
    }
}

/// The values that an example shows.
fn found_in_example(step: Step, bench: &Bench) -> Vec<f64> {
    match step {
        Step::Line => bench.hand.interval.into_iter().chain(bench.hand.best().1).collect(),
        Step::Many => {
            let (many, scores) = (bench.many, bench.many.scores());
            vec![many.inputs as f64, many.rows as f64, scores.training, scores.held_out]
        }
        _ => Vec::new(),
    }
}

/// R² of every block, or the perplexity that each one's linear map costs, in the order of the report.
fn found_in_run(step: Step, run: &Run) -> Vec<f64> {
    let blocks = run.blocks().iter();
    match step {
        Step::Measure => blocks.filter_map(|block| block.r2_lin).collect(),
        Step::Swap => blocks.filter_map(|block| block.delta_ppl.get("linear").copied().flatten()).collect(),
        _ => Vec::new(),
    }
}

/// Whether the shown result was measured here to completion.
fn was_measured(run: &Run) -> bool {
    *run.phase() == Phase::Finished && !run.is_opened() && !run.blocks().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;
    use crate::lesson::many;

    const NOTHING: [usize; 0] = [];

    fn done(progress: &Progress) -> Vec<usize> {
        Step::ALL.into_iter().filter(|step| progress.is_done(*step)).map(Step::number).collect()
    }

    fn update(progress: &mut Progress, bench: &Bench, run: &Run, view: View, preset: Option<Preset>) -> Vec<usize> {
        progress.update_from_examples(bench);
        progress.update_from_page(Shown { run, view, preset }, &bench.answers);
        done(progress)
    }

    /// A measurement completed here.
    fn measured() -> Run {
        use crate::state::run::tests::recording;
        use straightedge_api::message::Reply;
        let mut run = Run::start(1, None);
        recording().into_iter().for_each(|event| run.receive(&Reply::Event { run: 1, event }));
        run
    }

    #[test]
    fn as_the_page_opens_nothing_is_done() {
        let (mut progress, bench) = (Progress::default(), Bench::default());
        let recorded = Run::recorded(sample_report());
        assert_eq!(update(&mut progress, &bench, &recorded, View::Losses, None), NOTHING);
        assert_eq!(
            update(&mut progress, &bench, &Run::default(), View::Regimes, None),
            NOTHING,
            "nothing to be seen there"
        );
    }

    #[test]
    fn the_examples_are_done_when_they_show_what_they_are_for() {
        let (mut progress, mut bench, run) = (Progress::default(), Bench::default(), Run::default());
        bench.network.activation = Activation::Identity;
        assert_eq!(update(&mut progress, &bench, &run, View::Profile, None), [1]);
        bench.hand.straighten();
        assert_eq!(update(&mut progress, &bench, &run, View::Profile, None), [1, 2]);
        bench.many = many::Many { inputs: many::INPUTS, rows: many::ROWS[0] };
        assert_eq!(update(&mut progress, &bench, &run, View::Profile, None), [1, 2, 3]);
        for trap in Trap::ALL {
            assert!(!progress.is_done(Step::Traps) && progress.next_trap() == trap);
            bench.traps = Default::default();
            bench.traps.show(trap);
            update(&mut progress, &bench, &run, View::Profile, None);
        }
        assert_eq!(
            update(&mut progress, &Bench::default(), &run, View::Profile, None),
            [1, 2, 3, 4],
            "nothing is lost"
        );
    }

    #[test]
    fn only_what_was_measured_here_to_its_end_counts_as_measured() {
        let bench = Bench::default();
        let opened = Run::opened(1, sample_report());
        let mut cancelled = Run::start(1, None);
        cancelled.cancel();
        for run in [Run::start(1, None), Run::recorded(sample_report()), opened, cancelled] {
            assert_eq!(
                update(&mut Progress::default(), &bench, &run, View::Profile, None),
                NOTHING,
                "{:?}",
                run.phase()
            );
        }
        let run = measured();
        assert_eq!(update(&mut Progress::default(), &bench, &run, View::Losses, None), [5], "without swaps");
    }

    #[test]
    fn comparisons_and_views_count_once_they_were_all_open() {
        let (mut progress, bench, run) = (Progress::default(), Bench::default(), Run::recorded(sample_report()));
        for preset in PRESETS {
            assert_eq!(progress.next_preset(), preset);
            update(&mut progress, &bench, &run, View::Profile, Some(preset));
            assert_eq!(progress.next_preset(), preset, "it is not on show");
            update(&mut progress, &bench, &run, View::Compare, Some(preset));
        }
        assert_eq!(done(&progress), [7]);
        for view in VIEWS {
            assert_eq!(progress.next_view(), view);
            update(&mut progress, &bench, &run, view, None);
        }
        assert_eq!(done(&progress), [7, 8]);
    }

    #[test]
    fn exercises_are_done_when_all_that_can_be_checked_are_right() {
        let (mut progress, mut bench) = (Progress::default(), Bench::default());
        let run = Run::recorded(sample_report());
        for exercise in Exercise::CHECKED {
            assert!(!progress.is_done(Step::Exercises));
            bench.answers.insert(exercise, "x".into());
            update(&mut progress, &bench, &run, View::Profile, None);
            bench.answers.insert(exercise, exercise.solution(run.report()).expect("it was measured").to_string());
            update(&mut progress, &bench, &run, View::Profile, None);
        }
        assert_eq!(done(&progress), [9]);
    }
}
