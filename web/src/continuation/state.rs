//! A continuation in progress: takes worker replies and keeps the transcript so far.

use straightedge_api::continuation::Continuation;
use straightedge_api::event::{Progress, Recorder, Wait};
use straightedge_api::report::Report;
use straightedge_api::transcript::Transcript;

use crate::state::order_status::{OrderStatus, Phase};
use straightedge_api::message::Reply;

/// A continuation from start to end.
#[derive(Clone, Debug, Default)]
pub struct ContinuationState {
    status: OrderStatus,
    settings: Option<Continuation>,
    transcript: Transcript,
    /// The measurement that provides its maps.
    recorder: Recorder,
}

impl ContinuationState {
    /// A newly ordered continuation.
    pub fn start(number: u32, settings: Continuation) -> Self {
        Self { status: OrderStatus::start(number), settings: Some(settings), ..Self::default() }
    }

    /// The same, begun at a [`straightedge_api::date`].
    pub fn dated(self, date: String) -> Self {
        Self { recorder: self.recorder.dated(date), ..self }
    }

    /// Takes in a reply; those of other orders and those after the end change nothing.
    pub fn receive(&mut self, reply: &Reply) {
        if let Some(event) = self.status.receive(reply) {
            self.transcript.record(event);
            self.recorder.record(event);
        }
    }

    /// Cancels; the transcript stays.
    pub fn cancel(&mut self) {
        self.status.cancel();
    }

    /// Number of the order.
    pub fn number(&self) -> u32 {
        self.status.number()
    }

    /// Its phase.
    pub fn phase(&self) -> &Phase {
        self.status.phase()
    }

    /// Whether the engine is working on it.
    pub fn is_running(&self) -> bool {
        self.status.is_running()
    }

    /// Progress of its present stage, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        self.status.progress()
    }

    /// Its current wait, if any.
    pub fn waiting(&self) -> Option<&Wait> {
        self.status.waiting()
    }

    /// The prompt that is continued.
    pub fn prompt(&self) -> &str {
        self.settings.as_ref().map_or("", |settings| &settings.prompt)
    }

    /// The request, if there is one.
    pub fn settings(&self) -> Option<&Continuation> {
        self.settings.as_ref()
    }

    /// The transcript so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The report of the measurement that provides its maps, if any.
    pub fn report(&self) -> Option<&Report> {
        self.recorder.report()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use straightedge_api::continuation::{Both, Candidate, Opening, Step, Token};
    use straightedge_api::error::Error;
    use straightedge_api::event::{Event, FinalResults};

    use super::*;

    pub(crate) fn step(step: usize, names: [&str; 2], kl: f64) -> Event {
        let token = |name: &str| Token { id: name.len() as u32, name: name.into(), text: name.into() };
        let probability = Both { original: Some(0.75), linear: Some(0.25) };
        Event::Step(Box::new(Step {
            step,
            token: Both { original: token(names[0]), linear: token(names[1]) },
            kl,
            entropy: Both { original: 1.0, linear: 2.0 },
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
            ppl: Both { original: Some(10.0), linear: None },
        }))
    }

    pub(crate) fn received(events: &[Event]) -> ContinuationState {
        let mut continuation = ContinuationState::start(7, Continuation::new("A "));
        for event in events {
            continuation.receive(&Reply::Event { run: 7, event: event.clone() });
        }
        continuation
    }

    #[test]
    fn what_was_told_stays_when_it_is_stopped_and_nothing_comes_after() {
        let mut continuation = received(&[opened(), step(0, ["a", "a"], 0.0)]);
        continuation.receive(&Reply::Event { run: 6, event: step(1, ["b", "b"], 0.0) });
        continuation.cancel();
        continuation.receive(&Reply::Event { run: 7, event: step(1, ["b", "b"], 0.0) });
        assert_eq!((continuation.phase(), continuation.transcript().steps.len()), (&Phase::Cancelled, 1));
        assert_eq!(continuation.prompt(), "A ");
        let failed = received(&[opened(), Event::Failed(Error::Cancelled), Event::Finished(FinalResults::default())]);
        assert_eq!(failed.phase(), &Phase::Failed(Error::Cancelled));
    }
}
