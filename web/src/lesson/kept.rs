//! Progress, values found and answers of the lesson as text, which the browser keeps until the lesson starts over.
//!
//! The stored text is untrusted: unknown names are ignored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Step;
use super::exercises::Exercise;
use super::progress::{PRESETS, Progress, VIEWS};
use super::traps::Trap;

/// Answers as they were given.
pub type Answers = BTreeMap<Exercise, String>;

/// Letters of an answer; longer ones were not given on the page.
const LONGEST: usize = 12;
/// Values of a step; no model has more blocks.
const MOST: usize = 512;

/// Everything by its short name.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    done: Vec<String>,
    traps: Vec<String>,
    presets: Vec<String>,
    views: Vec<String>,
    answered: Vec<String>,
    answers: BTreeMap<String, String>,
    found: BTreeMap<String, Vec<f64>>,
}

/// Serialises progress and answers.
pub fn written(progress: &Progress, answers: &Answers) -> String {
    let stored = Stored {
        done: names(&progress.done, |step| step.to_string()),
        traps: names(&progress.traps, |trap| trap.id().into()),
        presets: names(&progress.presets, |preset| preset.id().into()),
        views: names(&progress.views, |view| view.id().into()),
        answered: names(&progress.answered, |exercise| exercise.id().into()),
        answers: answers.iter().map(|(exercise, answer)| (exercise.id().into(), answer.clone())).collect(),
        found: progress.found.iter().map(|(step, values)| (step.to_string(), values.clone())).collect(),
    };
    serde_json::to_string(&stored).unwrap_or_default()
}

/// Parses such a text; the result is empty if it is invalid.
pub fn read(text: &str) -> (Progress, Answers) {
    let stored: Stored = serde_json::from_str(text).unwrap_or_default();
    let found = |step: Step| {
        let values = stored.found.get(&step.to_string()).filter(|values| values.len() <= MOST)?;
        Some((step, values.clone()))
    };
    let progress = Progress {
        done: known(&Step::ALL, &stored.done, |step| step.to_string()),
        traps: known(&Trap::ALL, &stored.traps, |trap| trap.id().into()),
        presets: known(&PRESETS, &stored.presets, |preset| preset.id().into()),
        views: known(&VIEWS, &stored.views, |view| view.id().into()),
        answered: known(&Exercise::CHECKED, &stored.answered, |exercise| exercise.id().into()),
        found: Step::ALL.into_iter().filter_map(found).collect(),
    };
    let answer = |exercise: Exercise| {
        let answer = stored.answers.get(exercise.id()).filter(|answer| answer.chars().count() <= LONGEST)?;
        Some((exercise, answer.clone()))
    };
    (progress, Exercise::CHECKED.into_iter().filter_map(answer).collect())
}

fn names<'a, T: 'a>(all: impl IntoIterator<Item = &'a T>, name: impl Fn(&T) -> String) -> Vec<String> {
    all.into_iter().map(name).collect()
}

/// The elements of `all` whose names are in `names`.
fn known<T: Copy, C: FromIterator<T>>(all: &[T], names: &[String], name: impl Fn(T) -> String) -> C {
    all.iter().copied().filter(|one| names.contains(&name(*one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Bench;
    use crate::lesson::activation::Activation;

    #[test]
    fn what_was_reached_and_answered_comes_back() {
        let mut progress = Progress::default();
        let mut bench = Bench::default();
        bench.network.activation = Activation::Identity;
        bench.hand.straighten();
        progress.update_from_examples(&bench);
        progress.traps.insert(Trap::ALL[1]);
        progress.presets.insert(PRESETS[0]);
        progress.views.insert(VIEWS[1]);
        progress.answered.insert(Exercise::Gap);
        assert_eq!(progress.found[&Step::Line].len(), 3, "the interval and its R²");
        let answers = Answers::from([(Exercise::Gap, "3".into()), (Exercise::Rank, "x".into())]);
        assert_eq!(progress.count(), 2);
        assert_eq!(read(&written(&progress, &answers)), (progress, answers));
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        for text in
            ["", "null", "7", r#"{"done":[1]}"#, r#"{"answers":7}"#, r#"{"done":"1"}"#, r#"{"found":{"2":[1e999]}}"#]
        {
            assert_eq!(read(text), (Progress::default(), Answers::new()), "{text}");
        }
        let long = "x".repeat(LONGEST + 1);
        let text = format!(r#"{{"done":["1","10","x"],"views":["profile"],"answers":{{"gap":"{long}","no":"1"}}}}"#);
        let (progress, answers) = read(&text);
        assert_eq!((progress.count(), progress.is_done(Step::Network), answers.len()), (1, true, 0));
        assert!(progress.views.is_empty(), "no view of the lesson");
    }
}
