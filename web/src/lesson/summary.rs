//! What was found in each step, as sentences for the end of the lesson.

use super::Step;
use super::activation::Activation;
use super::exercises::Exercise;
use super::network::Network;
use super::progress::Progress;
use super::traps::Trap;
use crate::text::fill;
use crate::text::format::{count, fixed};
use crate::text::language::language;
use crate::text::lesson::l;

/// The sentence about a step.
pub fn summary(progress: &Progress, step: Step) -> String {
    if !progress.is_done(step) {
        return l().summary_missing.into();
    }
    let found = progress.found.get(&step).map_or(&[][..], Vec::as_slice);
    match (step, found) {
        (Step::Network, _) => {
            let r2 = |activation| fixed(Network { activation }.line().1, 3);
            let gaps = [("gelu", &*r2(Activation::Gelu)), ("none", &r2(Activation::Identity))];
            fill(l().summary_network, &gaps)
        }
        (Step::Line, [low, high, r2]) => {
            let [low, high] = [low, high].map(|end| fixed(Some(*end), 2));
            fill(l().summary_line, &[("low", &low), ("high", &high), ("r2", &fixed(Some(*r2), 3))])
        }
        (Step::Many, [inputs, rows, training, held_out]) => {
            let [inputs, rows] = [inputs, rows].map(|value| count(value.max(0.0) as u64));
            let [training, held_out] = [training, held_out].map(|r2| fixed(Some(*r2), 3));
            let gaps = [("inputs", &*inputs), ("rows", &rows), ("training", &training), ("held_out", &held_out)];
            fill(l().summary_many, &gaps)
        }
        (Step::Traps, _) => {
            let names = Trap::ALL.map(|trap| language().within_a_sentence(trap.name())).join(", ");
            fill(l().summary_traps, &[("names", &names)])
        }
        (Step::Measure, [_, ..]) => fill(l().summary_measure, &[("values", &listed(found))]),
        (Step::Swap, [_, ..]) => fill(l().summary_swap, &[("values", &listed(found))]),
        (Step::Learned, _) => l().summary_learned.into(),
        (Step::Regimes, _) => l().summary_regimes.into(),
        (Step::Exercises, _) => {
            let [right, all] = [progress.answered.len(), Exercise::CHECKED.len()].map(|number| number.to_string());
            fill(l().summary_exercises, &[("right", &right), ("all", &all)])
        }
        // Done, but in a version that kept no values.
        (Step::Line | Step::Many | Step::Measure | Step::Swap, _) => l().done.into(),
    }
}

fn listed(values: &[f64]) -> String {
    values.iter().map(|value| fixed(Some(*value), 3)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Bench;
    use crate::lesson::many::{INPUTS, Many, ROWS};

    #[test]
    fn the_values_found_are_told_and_what_is_missing_too() {
        let mut bench = Bench::default();
        let mut progress = Progress::default();
        bench.hand.straighten();
        bench.many = Many { inputs: INPUTS, rows: ROWS[0] };
        progress.update_from_examples(&bench);
        // What is changed afterwards changes nothing.
        progress.update_from_examples(&Bench::default());
        let r2 = fixed(bench.hand.best().1, 3);
        assert_eq!(
            summary(&progress, Step::Line),
            format!("From 0.50 to 4.00, a straight line reaches an R² of {r2}.")
        );
        let held_out = fixed(Some(bench.many.scores().held_out), 3);
        assert!(summary(&progress, Step::Many).starts_with("24 inputs on 30 rows") && held_out.starts_with('−'));
        assert!(summary(&progress, Step::Many).contains(&held_out));
        assert_eq!(summary(&progress, Step::Measure), l().summary_missing);
        progress.done.insert(Step::Measure);
        assert_eq!(summary(&progress, Step::Measure), l().done);
        progress.found.insert(Step::Measure, vec![0.85, -0.5]);
        assert_eq!(summary(&progress, Step::Measure), "R² by block: 0.850, −0.500.");
    }
}
