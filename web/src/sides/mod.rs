//! A prompt continued by a model and by the same model with some blocks linear: replies of the worker go in, what can
//! be shown comes out.

mod ask;
mod told;

pub use ask::{Ask, Linear};
pub use told::{Line, bar, candidates, heading, label, most, numbers, percent, place, status};

use straightedge::continuation::{Continuation, Transcript};
use straightedge::error::Error;
use straightedge::event::{Event, Progress, Recorder, Wait};
use straightedge::report::Report;

use crate::message::Reply;
use crate::run::Phase;

/// The blocks of the chosen model with their R², as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Index and R²_lin of every block.
    pub blocks: Vec<(usize, Option<f64>)>,
}

impl Known {
    /// The blocks of a model of which only their number is known.
    pub fn of_number(blocks: usize) -> Self {
        Self { blocks: (0..blocks).map(|block| (block, None)).collect() }
    }

    /// The blocks of the model of a report.
    pub fn of_report(report: &Report) -> Self {
        let mut known = Self::of_number(report.model.num_hidden_layers);
        for block in &report.blocks {
            if let Some((_, r2)) = known.blocks.get_mut(block.block) {
                *r2 = block.r2_lin;
            }
        }
        known
    }

    /// The block with the highest R².
    pub fn most_linear(&self) -> Option<usize> {
        let measured = self.blocks.iter().filter_map(|(block, r2)| Some((*block, (*r2)?)));
        measured.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(block, _)| block)
    }
}

/// A continuation from its start to whatever end it comes to.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    number: u32,
    phase: Phase,
    progress: Option<Progress>,
    waiting: Option<Wait>,
    asked: Option<Continuation>,
    transcript: Transcript,
    /// What was measured for it.
    recorder: Recorder,
}

impl Sides {
    /// One that was just ordered.
    pub fn start(number: u32, asked: Continuation) -> Self {
        Self { number, phase: Phase::Running, asked: Some(asked), ..Self::default() }
    }

    /// Takes in a reply; those of other orders and those after the end change nothing.
    pub fn hear(&mut self, reply: &Reply) {
        if self.phase != Phase::Running {
            return;
        }
        match reply {
            Reply::Event { run, event } if *run == self.number => self.record(event),
            Reply::Ended { run, .. } if *run == self.number => {
                self.phase = Phase::Failed(Error::Engine { why: "it stopped without a result".into() });
            }
            Reply::Crashed { why } => self.phase = Phase::Failed(Error::Engine { why: why.clone() }),
            _ => {}
        }
    }

    fn record(&mut self, event: &Event) {
        self.transcript.record(event);
        self.recorder.record(event);
        match event {
            Event::Progress(progress) => (self.progress, self.waiting) = (Some(*progress), None),
            Event::Waiting(wait) => self.waiting = Some(wait.clone()),
            Event::Finished(_) => self.phase = Phase::Finished,
            Event::Failed(error) => self.phase = Phase::Failed(error.clone()),
            _ => {}
        }
    }

    /// Stops on request; what was told stays.
    pub fn cancel(&mut self) {
        if self.phase == Phase::Running {
            self.phase = Phase::Cancelled;
        }
    }

    /// Number of the order.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether the engine is at it.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// How far its present stage has come, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        self.progress.filter(|_| self.is_running())
    }

    /// What it waits for, while it does.
    pub fn waiting(&self) -> Option<&Wait> {
        self.waiting.as_ref().filter(|_| self.is_running())
    }

    /// The prompt that is continued.
    pub fn prompt(&self) -> &str {
        self.asked.as_ref().map_or("", |asked| &asked.prompt)
    }

    /// All that was told.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The measurement that was made for it, if one was.
    pub fn report(&self) -> Option<&Report> {
        self.recorder.report()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use straightedge::continuation::{Beside, Candidate, Opening, Step, Token};
    use straightedge::event::Outcome;

    use super::*;

    pub(crate) fn step(step: usize, names: [&str; 2], kl: f64) -> Event {
        let token = |name: &str| Token { id: name.len() as u32, name: name.into(), text: name.into() };
        let probability = Beside { original: Some(0.75), linear: Some(0.25) };
        Event::Step(Box::new(Step {
            step,
            token: Beside { original: token(names[0]), linear: token(names[1]) },
            kl,
            entropy: Beside { original: 1.0, linear: 2.0 },
            candidates: vec![Candidate { id: names[0].len() as u32, name: names[0].into(), probability }],
            own: Vec::new(),
        }))
    }

    pub(crate) fn opened() -> Event {
        Event::Opened(Box::new(Opening {
            model: "m".into(),
            blocks: vec![1, 2],
            num_hidden_layers: 4,
            device: Default::default(),
            prompt_tokens: 3,
            context: 128,
            ppl: Beside { original: Some(10.0), linear: None },
        }))
    }

    pub(crate) fn heard(events: &[Event]) -> Sides {
        let mut sides = Sides::start(7, Continuation::new("A "));
        for event in events {
            sides.hear(&Reply::Event { run: 7, event: event.clone() });
        }
        sides
    }

    #[test]
    fn what_was_told_stays_when_it_is_stopped_and_nothing_comes_after() {
        let mut sides = heard(&[opened(), step(0, ["a", "a"], 0.0)]);
        sides.hear(&Reply::Event { run: 6, event: step(1, ["b", "b"], 0.0) });
        sides.cancel();
        sides.hear(&Reply::Event { run: 7, event: step(1, ["b", "b"], 0.0) });
        assert_eq!((sides.phase(), sides.transcript().steps.len()), (&Phase::Cancelled, 1));
        assert_eq!(sides.prompt(), "A ");
        let failed = heard(&[opened(), Event::Failed(Error::Cancelled), Event::Finished(Outcome::default())]);
        assert_eq!(failed.phase(), &Phase::Failed(Error::Cancelled));
        let mut silent = heard(&[]);
        silent.hear(&Reply::Ended { run: 7, memory: Default::default() });
        assert!(matches!(silent.phase(), Phase::Failed(Error::Engine { .. })));
    }

    #[test]
    fn blocks_are_known_from_a_report_that_may_be_half_done() {
        let mut report = crate::figures::sample_report();
        report.model.num_hidden_layers = 4;
        report.blocks.truncate(2);
        let known = Known::of_report(&report);
        assert_eq!(known.blocks.len(), 4);
        assert_eq!(known.blocks[3], (3, None));
        assert_eq!(known.blocks[1].1, report.blocks[1].r2_lin);
        assert!(known.most_linear().is_some_and(|block| block < 2));
        assert_eq!(Known::of_number(3).most_linear(), None);
    }
}
