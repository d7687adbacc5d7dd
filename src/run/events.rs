//! The stream of events of a running measurement: polling it does the work, dropping it cancels.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::Stream;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::LocalBoxFuture;
use web_time::Instant;

use crate::error::Result;
use crate::event::{Event, Progress, Stage};
use crate::platform::yielding::yield_now;
use crate::report::Warning;

/// The events of a running measurement. Ends after `Finished` or `Failed`.
pub struct Events {
    receiver: UnboundedReceiver<Event>,
    work: Option<LocalBoxFuture<'static, ()>>,
}

impl Events {
    /// Runs `work` as the stream is polled; its error becomes the last event.
    pub(super) fn new<F>(work: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = Result<()>> + 'static,
    {
        let (sender, receiver) = unbounded();
        let emitter = Emitter { sender, warnings: Rc::default() };
        let body = work(emitter.clone());
        let work = async move {
            if let Err(error) = body.await {
                emitter.send(Event::Failed(error));
            }
        };
        Self { receiver, work: Some(Box::pin(work)) }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Ok(event) = self.receiver.try_recv() {
                return Poll::Ready(Some(event));
            }
            match self.work.as_mut().map(|work| work.as_mut().poll(context)) {
                Some(Poll::Ready(())) => self.work = None,
                Some(Poll::Pending) => {
                    return self.receiver.try_recv().map_or(Poll::Pending, |event| Poll::Ready(Some(event)));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Where the work sends its events.
#[derive(Clone)]
pub(super) struct Emitter {
    sender: UnboundedSender<Event>,
    warnings: Rc<RefCell<Vec<Warning>>>,
}

impl Emitter {
    /// Queues an event. A closed stream has dropped the work too, so that nobody misses it.
    pub(super) fn send(&self, event: Event) {
        let _ = self.sender.unbounded_send(event);
    }

    /// Queues an event and lets the stream's owner see it, and cancel, before going on.
    pub(super) async fn emit(&self, event: Event) {
        self.send(event);
        yield_now().await;
    }

    /// Queues a warning.
    pub(super) fn warn(&self, code: &str, block: Option<usize>, text: String) {
        let warning = Warning { code: code.into(), block, text };
        self.warnings.borrow_mut().push(warning.clone());
        self.send(Event::Warning(warning));
    }

    /// All warnings so far.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.warnings.borrow().clone()
    }

    /// Starts to report on a stage.
    pub(super) fn stage(&self, stage: Stage, total: u64) -> StageMeter {
        let meter = self.later(stage, total);
        meter.go();
        meter
    }

    /// The meter of a stage that comes later, or by and by.
    pub(super) fn later(&self, stage: Stage, total: u64) -> StageMeter {
        let (done, spent, since) = (Cell::new(None), Cell::new(0.0), Cell::new(None));
        StageMeter { emitter: self.clone(), stage, total, done, spent, since }
    }
}

/// Reports how far one stage has come, and how long it took while it was not at rest.
pub(super) struct StageMeter {
    emitter: Emitter,
    stage: Stage,
    total: u64,
    /// Amount done; `None` before the stage begins.
    done: Cell<Option<u64>>,
    /// Seconds up to the last rest.
    spent: Cell<f64>,
    /// Since when it is not at rest.
    since: Cell<Option<Instant>>,
}

impl StageMeter {
    /// Begins, or goes on.
    pub(super) fn go(&self) {
        if self.since.get().is_none() {
            self.since.set(Some(Instant::now()));
        }
        if self.done.get().is_none() {
            self.tell(0, self.total);
        }
    }

    /// Time does not count until the stage goes on.
    pub(super) fn rest(&self) {
        self.spent.set(self.seconds());
        self.since.set(None);
    }

    /// What `work` comes to; only the time in which it keeps this thread busy counts, for other work goes on beside it.
    pub(super) async fn during<R>(&self, work: impl Future<Output = R>) -> R {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            self.go();
            let polled = work.as_mut().poll(context);
            self.rest();
            polled
        })
        .await
    }

    /// Queues the amount done, of an amount in all that may only be known by now.
    pub(super) fn tell(&self, done: u64, total: u64) {
        self.done.set(Some(done));
        let progress = Progress { stage: self.stage, done, total, seconds: self.seconds() };
        self.emitter.send(Event::Progress(progress));
    }

    /// Reports the amount done and lets the stream's owner see it, and cancel.
    pub(super) async fn reach(&self, done: u64) {
        self.say(done, self.total).await;
    }

    /// [`StageMeter::reach`] of an amount in all that may only be known by now.
    pub(super) async fn say(&self, done: u64, total: u64) {
        self.tell(done, total);
        yield_now().await;
    }

    /// Queues that more is done.
    pub(super) fn add(&self, more: u64) {
        self.tell(self.done.get().unwrap_or(0) + more, self.total);
    }

    /// Reports that more is done, as [`StageMeter::reach`] does.
    pub(super) async fn advance(&self, more: u64) {
        self.add(more);
        yield_now().await;
    }

    /// Lets the stream's owner cancel between two amounts worth reporting.
    pub(super) async fn again(&self) {
        yield_now().await;
    }

    /// Seconds that the stage has taken.
    pub(super) fn seconds(&self) -> f64 {
        self.spent.get() + self.since.get().map_or(0.0, |since| since.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use futures::StreamExt;
    use pollster::block_on;

    use super::*;
    use crate::error::Error;

    #[test]
    fn an_error_is_the_last_event() {
        let events = Events::new(|out| async move {
            out.warn("test", None, "first".into());
            Err(Error::Cancelled)
        });
        let events: Vec<Event> = block_on(events.collect());
        assert!(matches!(&events[..], [Event::Warning(_), Event::Failed(Error::Cancelled)]), "{events:?}");
    }

    #[test]
    fn dropping_the_stream_stops_the_work() {
        let steps = Rc::new(Cell::new(0));
        let counter = steps.clone();
        let mut events = Events::new(|out| async move {
            let meter = out.stage(Stage::Measure, 100);
            for step in 0..100 {
                counter.set(step);
                meter.reach(step).await;
            }
            Ok(())
        });
        block_on(async {
            for _ in 0..3 {
                events.next().await;
            }
        });
        drop(events);
        assert!(steps.get() <= 2, "the work went on to step {}", steps.get());
    }
}
