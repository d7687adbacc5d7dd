//! The transcript of a continuation, built from its events.

use serde::{Deserialize, Serialize};

use crate::continuation::{Both, Opening, Step, Token};
use crate::event::Event;
use crate::paired::t_quantile;
use crate::report::{Header, Interval, Warning};

/// Fewest steps whose mean KL has an interval: four in each batch.
pub const FEWEST_STEPS: usize = 4 * BATCHES;
/// Batches of neighbouring steps.
const BATCHES: usize = 10;

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

    /// The 95 % interval of [`Self::mean_kl`] over texts of this length (docs/measures.md, section 11); `None` for fewer
    /// than [`FEWEST_STEPS`] steps.
    pub fn kl_interval(&self) -> Option<Interval> {
        mean_interval(&self.steps.iter().map(|step| step.kl).collect::<Vec<_>>())
    }
}

/// The 95 % interval of the mean of values that depend on their neighbours, by the means of batches of neighbours.
fn mean_interval(values: &[f64]) -> Option<Interval> {
    if values.len() < FEWEST_STEPS {
        return None;
    }
    let batches: Vec<f64> = (0..BATCHES)
        .map(|at| &values[at * values.len() / BATCHES..(at + 1) * values.len() / BATCHES])
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let count = BATCHES as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let variance = batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let (middle, half) = (values.iter().sum::<f64>() / values.len() as f64, (variance / count).sqrt());
    let half = t_quantile(count - 1.0) * half;
    half.is_finite().then(|| Interval { low: (middle - half).max(0.0), high: middle + half })
}

#[cfg(test)]
mod tests {
    use straightedge_random::Random;

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
        assert_eq!(transcript.kl_interval(), None, "three steps");
        (3..40).for_each(|at| transcript.record(&Event::Step(Box::new(step(at, [1, 1], f64::from(at as u8 % 2))))));
        let interval = transcript.kl_interval().expect("an interval");
        let mean = transcript.mean_kl().expect("a mean");
        assert!(interval.low < mean && mean < interval.high && interval.high < 0.7, "{interval:?} about {mean}");
    }

    /// Share of intervals that contain the true mean of a squared first-order autoregression. Like KL along a text, it
    /// is skewed and autocorrelated.
    fn coverage(steps: usize, memory: f64) -> f64 {
        const REPETITIONS: usize = 2000;
        let mut random = Random::new(3);
        let mut state = 0.0;
        let held = (0..REPETITIONS).filter(|_| {
            let values: Vec<f64> = (0..steps)
                .map(|_| {
                    state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
                    state * state
                })
                .collect();
            let interval = mean_interval(&values).expect("an interval");
            (interval.low..=interval.high).contains(&1.0)
        });
        held.count() as f64 / REPETITIONS as f64
    }

    #[test]
    fn intervals_of_a_mean_hold_it_in_nine_of_ten_cases_and_more() {
        for (steps, memory) in [(64, 0.0), (64, 0.5), (256, 0.0), (256, 0.7)] {
            let found = coverage(steps, memory);
            println!("{steps} steps, {memory} of the past: {found}");
            assert!((0.88..=0.97).contains(&found), "{steps} steps, {memory} of the past: {found}");
        }
    }
}
