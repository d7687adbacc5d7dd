//! The lesson: nine steps through the instrument for one class, with small examples that are computed here.
//!
//! A [`Step`] is the visitor's position, a [`Bench`] holds the settings of the examples, and [`progress::Progress`] is
//! derived from the bench and the instrument, never from a button. [`mod@line`], [`many`] and [`traps`] compute the
//! examples.

pub mod activation;
pub mod dense;
pub mod exercises;
pub mod formulas;
pub mod hand;
pub mod kept;
pub mod line;
pub mod many;
pub mod network;
pub mod pictures;
pub mod progress;
pub mod qr;
pub mod summary;
pub mod traps;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::state::frame::{Frame, Part};
use crate::text::lesson::l;

use exercises::Exercise;
use hand::Hand;
use many::Many;
use network::Network;
use traps::Traps;

/// One step, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The function of a feed-forward network.
    #[default]
    Network,
    /// A line fitted to a curve by hand.
    Line,
    /// From one input to many.
    Many,
    /// The meaning of R², and four traps.
    Traps,
    /// Measuring a block.
    Measure,
    /// Swapping it.
    Swap,
    /// Learned or architectural.
    Learned,
    /// The two regimes.
    Regimes,
    /// Exercises.
    Exercises,
}

/// What the lesson prints as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Print {
    /// For the class: with lines to write on, without outcomes.
    #[default]
    Handout,
    /// For the teacher: with outcomes and answers.
    Key,
}

impl Print {
    /// Stable short name, for the style sheet.
    pub fn id(self) -> &'static str {
        match self {
            Self::Handout => "handout",
            Self::Key => "key",
        }
    }
}

/// The settings of the examples, and the answers given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bench {
    /// The small network.
    pub network: Network,
    /// The curve and its line.
    pub hand: Hand,
    /// Inputs and rows.
    pub many: Many,
    /// The four traps.
    pub traps: Traps,
    /// Answers as typed.
    pub answers: BTreeMap<Exercise, String>,
}

/// The texts of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepText {
    /// Its name.
    pub title: &'static str,
    /// The explanation, one paragraph per line.
    pub text: &'static str,
    /// The task.
    pub task: &'static str,
    /// Observations to make.
    pub observations: &'static str,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 9] = [
        Self::Network,
        Self::Line,
        Self::Many,
        Self::Traps,
        Self::Measure,
        Self::Swap,
        Self::Learned,
        Self::Regimes,
        Self::Exercises,
    ];

    /// Its number from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// The previous step.
    pub fn previous(self) -> Option<Self> {
        self.number().checked_sub(2).map(|at| Self::ALL[at])
    }

    /// The next step.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self.number()).copied()
    }

    /// Minutes that a class needs for it, roughly.
    pub fn minutes(self) -> usize {
        match self {
            Self::Network | Self::Measure | Self::Regimes | Self::Exercises => 4,
            Self::Many | Self::Swap => 5,
            Self::Line | Self::Learned => 6,
            Self::Traps => 7,
        }
    }

    /// Its texts.
    pub fn texts(self) -> StepText {
        let l = l();
        let texts = |title, text, task, observations| StepText { title, text, task, observations };
        match self {
            Self::Network => texts(l.network_title, l.network_text, l.network_task, l.network_look),
            Self::Line => texts(l.line_title, l.line_text, l.line_task, l.line_look),
            Self::Many => texts(l.many_title, l.many_text, l.many_task, l.many_look),
            Self::Traps => texts(l.traps_title, l.traps_text, l.traps_task, l.traps_look),
            Self::Measure => texts(l.measure_title, l.measure_text, l.measure_task, l.measure_look),
            Self::Swap => texts(l.swap_title, l.swap_text, l.swap_task, l.swap_look),
            Self::Learned => texts(l.learned_title, l.learned_text, l.learned_task, l.learned_look),
            Self::Regimes => texts(l.regimes_title, l.regimes_text, l.regimes_task, l.regimes_look),
            Self::Exercises => texts(l.exercises_title, l.exercises_text, l.exercises_task, l.exercises_look),
        }
    }

    /// Its formula as MathML.
    pub fn formula(self) -> Option<String> {
        let formula = match self {
            Self::Network => Some(formulas::NETWORK),
            Self::Line => Some(formulas::LINE),
            Self::Many => Some(formulas::MANY),
            Self::Traps => Some(formulas::TRAPS),
            Self::Swap => Some(formulas::SWAP),
            Self::Regimes => Some(formulas::REGIMES),
            Self::Measure | Self::Learned | Self::Exercises => None,
        };
        formula.map(formulas::worded)
    }

    /// What a reader may skip: a heading, an explanation, and its formula as MathML.
    pub fn closed_form(self) -> Option<[String; 3]> {
        let l = l();
        (self == Self::Many).then(|| [l.closed_form.into(), l.many_closed.into(), formulas::worded(formulas::CLOSED)])
    }

    /// Whether it has an experiment of its own, which then takes the large panel; other steps use the instrument there.
    pub fn is_staged(self) -> bool {
        matches!(self, Self::Network | Self::Line | Self::Many | Self::Traps)
    }

    /// The reason why it is impossible, if a link hides or locks a part it needs.
    pub fn obstacle(self, frame: &Frame) -> Option<&'static str> {
        let needs_views = matches!(self, Self::Swap | Self::Learned | Self::Regimes);
        (needs_views && frame.hidden.contains(&Part::Views)).then_some(l().hindered_views)
    }

    /// Whether the page can do it for the visitor.
    pub fn can_be_done(self) -> bool {
        self != Self::Exercises
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

impl FromStr for Step {
    type Err = ();

    fn from_str(number: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|step| step.to_string() == number).ok_or(())
    }
}

/// Minutes that a class needs for the whole lesson, roughly.
pub fn minutes() -> usize {
    Step::ALL.into_iter().map(Step::minutes).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn steps_follow_each_other_and_fill_a_class() {
        assert_eq!(minutes(), 45);
        for pair in Step::ALL.windows(2) {
            assert_eq!((pair[0].next(), pair[1].previous()), (Some(pair[1]), Some(pair[0])));
        }
        assert_eq!((Step::Network.previous(), Step::Exercises.next()), (None, None));
    }

    #[test]
    fn a_step_is_known_by_its_number_and_by_nothing_else() {
        for step in Step::ALL {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
        for other in ["0", "10", "01", "+1", "1 ", "", "x", "-1", "1.0"] {
            assert_eq!(other.parse::<Step>(), Err(()), "{other:?}");
        }
    }

    #[test]
    fn every_step_says_what_it_is_and_what_to_do() {
        for step in Step::ALL {
            let texts = step.texts();
            for text in texts.text.lines().chain([texts.task, texts.observations]) {
                assert!(text.ends_with(['.', '?', ':']), "{step:?}: {text}");
            }
            assert!(!texts.title.is_empty() && !texts.text.is_empty());
        }
    }

    #[test]
    fn only_steps_that_need_the_views_are_hindered_without_them() {
        let frame = Frame { hidden: BTreeSet::from([Part::Views]), ..Frame::default() };
        let obstacle: Vec<_> = Step::ALL.into_iter().filter(|step| step.obstacle(&frame).is_some()).collect();
        assert_eq!(obstacle, [Step::Swap, Step::Learned, Step::Regimes]);
        assert!(Step::ALL.into_iter().all(|step| step.obstacle(&Frame::default()).is_none()));
    }
}
