//! A continuation under way: replies of the worker go in, what was told so far stays.

use straightedge_api::continuation::Continuation;
use straightedge_api::event::{Progress, Recorder, Wait};
use straightedge_api::report::Report;
use straightedge_api::transcript::Transcript;

use crate::state::course::{Course, Phase};
use straightedge_api::message::Reply;

/// A continuation from its start to whatever end it comes to.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    course: Course,
    asked: Option<Continuation>,
    transcript: Transcript,
    /// What was measured for it.
    recorder: Recorder,
}

impl Sides {
    /// One that was just ordered.
    pub fn start(number: u32, asked: Continuation) -> Self {
        Self { course: Course::start(number), asked: Some(asked), ..Self::default() }
    }

    /// The same, begun at a [`straightedge_api::date`].
    pub fn dated(self, date: String) -> Self {
        Self { recorder: self.recorder.dated(date), ..self }
    }

    /// Takes in a reply; those of other orders and those after the end change nothing.
    pub fn hear(&mut self, reply: &Reply) {
        if let Some(event) = self.course.hear(reply) {
            self.transcript.record(event);
            self.recorder.record(event);
        }
    }

    /// Stops on request; what was told stays.
    pub fn cancel(&mut self) {
        self.course.cancel();
    }

    /// Number of the order.
    pub fn number(&self) -> u32 {
        self.course.number()
    }

    /// Where it stands.
    pub fn phase(&self) -> &Phase {
        self.course.phase()
    }

    /// Whether the engine is at it.
    pub fn is_running(&self) -> bool {
        self.course.is_running()
    }

    /// How far its present stage has come, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        self.course.progress()
    }

    /// What it waits for, while it does.
    pub fn waiting(&self) -> Option<&Wait> {
        self.course.waiting()
    }

    /// The prompt that is continued.
    pub fn prompt(&self) -> &str {
        self.asked.as_ref().map_or("", |asked| &asked.prompt)
    }

    /// What was asked for, once something was.
    pub fn asked(&self) -> Option<&Continuation> {
        self.asked.as_ref()
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
    use straightedge_api::continuation::{Beside, Candidate, Opening, Step, Token};
    use straightedge_api::error::Error;
    use straightedge_api::event::{Event, Outcome};

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
    }
}
