//! The transcript of a continuation, built from its events.

use serde::{Deserialize, Serialize};

use crate::continuation::{Both, Opening, Step, Token};
use crate::event::Event;
use crate::report::{Header, Warning};

/// All results of a continuation, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// The measurement of the maps; null if they were given or not needed.
    pub measured: Option<Header>,
    /// Both models' reading of the prompt.
    pub opening: Option<Opening>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

impl Transcript {
    /// Adds one event.
    pub fn record(&mut self, event: &Event) {
        match event {
            Event::Started(header) => self.measured = Some(Header::clone(header)),
            Event::Opened(opening) => self.opening = Some(Opening::clone(opening)),
            Event::Step(step) => self.steps.push(Step::clone(step)),
            Event::Warning(warning) => self.warnings.push(warning.clone()),
            _ => {}
        }
    }

    /// The text both models added to the prompt.
    pub fn text(&self) -> Both<String> {
        let all = |token: fn(&Step) -> &Token| self.steps.iter().map(|step| token(step).text.as_str()).collect();
        Both { original: all(|step| &step.token.original), linear: all(|step| &step.token.linear) }
    }

    /// The first step at which the texts differ.
    pub fn parting(&self) -> Option<usize> {
        self.steps.iter().position(|step| !step.is_same())
    }

    /// Mean of [`Step::kl`]; `None` without steps.
    pub fn mean_kl(&self) -> Option<f64> {
        let sum: f64 = self.steps.iter().map(|step| step.kl).sum();
        (!self.steps.is_empty()).then(|| sum / self.steps.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: usize, ids: [u32; 2], kl: f64) -> Step {
        let token = |id: u32| Token { id, name: id.to_string(), text: format!(" {id}") };
        Step {
            step,
            token: Both { original: token(ids[0]), linear: token(ids[1]) },
            kl,
            entropy: Both::default(),
            candidates: Vec::new(),
            own: Vec::new(),
        }
    }

    #[test]
    fn a_transcript_knows_both_texts_and_where_they_part() {
        let mut transcript = Transcript::default();
        assert_eq!((transcript.parting(), transcript.mean_kl()), (None, None));
        for event in [step(0, [1, 1], 0.5), step(1, [2, 3], 1.5), step(2, [4, 4], 1.0)] {
            transcript.record(&Event::Step(Box::new(event)));
        }
        assert_eq!(transcript.text(), Both { original: " 1 2 4".into(), linear: " 1 3 4".into() });
        assert_eq!((transcript.parting(), transcript.mean_kl()), (Some(1), Some(1.0)));
    }
}
