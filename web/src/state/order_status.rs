//! Status of an order to the engine, from start to end.

use straightedge_api::error::Error;
use straightedge_api::event::{Event, Progress, ProgressPair, Wait};

use straightedge_api::message::Reply;

/// Status of an order.
#[derive(Clone, Debug, Default)]
pub struct OrderStatus {
    number: u32,
    phase: Phase,
    progress_pair: ProgressPair,
    waiting: Option<Wait>,
}

/// Phase of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was ordered yet.
    #[default]
    Idle,
    /// Nothing was ordered: what is shown was recorded with the page.
    Recorded,
    /// The worker is working on it.
    Running,
    /// Complete.
    Finished,
    /// Stopped by the user.
    Cancelled,
    /// Ended by a failure.
    Failed(Error),
}

impl Phase {
    /// Its name in the page's markup.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Recorded => "recorded",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

impl OrderStatus {
    /// Status of a newly sent order.
    pub fn start(number: u32) -> Self {
        Self::at(number, Phase::Running)
    }

    /// Status of a result that is not being measured: recorded, or from a file.
    pub fn at(number: u32, phase: Phase) -> Self {
        Self { number, phase, ..Self::default() }
    }

    /// Handles a reply and returns its event; replies of other orders and after the end are ignored.
    pub fn receive<'a>(&mut self, reply: &'a Reply) -> Option<&'a Event> {
        if !self.is_running() {
            return None;
        }
        match reply {
            Reply::Event { run, event } if *run == self.number => {
                self.follow(event);
                return Some(event);
            }
            Reply::Ended { run, .. } if *run == self.number => {
                self.phase = Phase::Failed(Error::Engine { why: "it stopped without a result".into() });
            }
            Reply::Crashed(error) => self.phase = Phase::Failed(error.clone()),
            _ => {}
        }
        None
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Progress(progress) => {
                self.progress_pair.receive(*progress);
                self.waiting = None;
            }
            Event::Waiting(wait) => self.waiting = Some(wait.clone()),
            Event::Finished(_) => self.phase = Phase::Finished,
            Event::Failed(error) => self.phase = Phase::Failed(error.clone()),
            _ => {}
        }
    }

    /// Cancels the order.
    pub fn cancel(&mut self) {
        if self.is_running() {
            self.phase = Phase::Cancelled;
        }
    }

    /// Number of the order.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its phase.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether the engine is working on it.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Progress of its present stage, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        self.progress_pair.main.filter(|_| self.is_running())
    }

    /// Progress of a concurrent stage, while it runs.
    pub fn concurrent(&self) -> Option<Progress> {
        self.progress_pair.concurrent.filter(|_| self.is_running())
    }

    /// Its current wait, if any.
    pub fn waiting(&self) -> Option<&Wait> {
        self.waiting.as_ref().filter(|_| self.is_running())
    }
}

#[cfg(test)]
mod tests {
    use straightedge_api::event::{FinalResults, Stage};

    use super::*;
    use straightedge_api::message::EngineMemory;

    fn event(run: u32, event: Event) -> Reply {
        Reply::Event { run, event }
    }

    fn moved() -> Event {
        Event::Progress(Progress { stage: Stage::Measure, done: 1, total: 2, seconds: 1.0 })
    }

    #[test]
    fn a_wait_is_told_until_something_moves() {
        let mut status = OrderStatus::start(1);
        let wait = Wait { seconds: 3.0, why: "the server asks to wait".into() };
        assert!(status.receive(&event(1, Event::Waiting(wait.clone()))).is_some());
        assert_eq!(status.waiting(), Some(&wait));
        status.receive(&event(1, moved()));
        assert_eq!((status.waiting(), status.progress().map(|progress| progress.done)), (None, Some(1)));
    }

    #[test]
    fn others_are_not_heard_and_nothing_is_after_the_end() {
        let mut status = OrderStatus::start(2);
        assert!(status.receive(&event(1, moved())).is_none());
        status.receive(&Reply::Ended { run: 1, memory: EngineMemory::default() });
        assert!(status.is_running() && status.progress().is_none());
        status.receive(&event(2, moved()));
        status.cancel();
        assert!(status.receive(&event(2, Event::Finished(FinalResults::default()))).is_none());
        assert_eq!((status.phase(), status.progress()), (&Phase::Cancelled, None));
        assert!(OrderStatus::at(0, Phase::Recorded).receive(&event(0, moved())).is_none());
    }

    #[test]
    fn an_engine_that_breaks_down_or_says_nothing_is_a_failure() {
        let ended = Reply::Ended { run: 1, memory: EngineMemory::default() };
        for reply in [Reply::Crashed(Error::Engine { why: "out of memory".into() }), ended] {
            let mut status = OrderStatus::start(1);
            status.receive(&reply);
            assert!(matches!(status.phase(), Phase::Failed(Error::Engine { .. })), "{reply:?}");
            status.cancel();
            assert!(matches!(status.phase(), Phase::Failed(_)), "it has ended already");
        }
        let culprit = Error::Tokenizer { why: "tokenizer.json: the crate tokenizers fails on it".into() };
        let mut status = OrderStatus::start(1);
        status.receive(&Reply::Crashed(culprit.clone()));
        assert_eq!(status.phase(), &Phase::Failed(culprit), "what the engine knows is told");
    }
}
