//! The stream of events of a running measurement: polling it does the work, dropping it cancels.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::LocalBoxFuture;
use web_time::Instant;

use crate::error::Result;
use crate::event::{Event, Progress, Stage};
use crate::pause::pause;
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
        let emitter = Emitter { sender };
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
}

impl Emitter {
    /// Queues an event. A closed stream has dropped the work too, so that nobody misses it.
    pub(super) fn send(&self, event: Event) {
        let _ = self.sender.unbounded_send(event);
    }

    /// Queues an event and lets the stream's owner see it, and cancel, before going on.
    pub(super) async fn emit(&self, event: Event) {
        self.send(event);
        pause().await;
    }

    /// Queues a warning.
    pub(super) fn warn(&self, code: &str, block: Option<usize>, text: String) {
        self.send(Event::Warning(Warning { code: code.into(), block, text }));
    }

    /// Starts to report on a stage.
    pub(super) fn stage(&self, stage: Stage, total: u64) -> Meter {
        let meter = Meter { emitter: self.clone(), stage, before: 0, total, started: Instant::now() };
        meter.tell(0, total);
        meter
    }
}

/// Reports how far one stage has come.
pub(super) struct Meter {
    emitter: Emitter,
    stage: Stage,
    /// Amount done by earlier parts.
    before: u64,
    total: u64,
    started: Instant,
}

impl Meter {
    /// Queues the amount done, of an amount in all that may only be known by now.
    pub(super) fn tell(&self, done: u64, total: u64) {
        let progress = Progress { stage: self.stage, done, total, seconds: self.seconds() };
        self.emitter.send(Event::Progress(progress));
    }

    /// Reports the amount done and lets the stream's owner see it, and cancel.
    pub(super) async fn reach(&self, done: u64) {
        self.tell(self.before + done, self.total);
        pause().await;
    }

    /// The meter of one part of the stage, which counts from 0 where `done` is done before it.
    pub(super) fn after(&self, done: u64) -> Self {
        Self { before: self.before + done, emitter: self.emitter.clone(), ..*self }
    }

    /// Lets the stream's owner cancel between two amounts worth reporting.
    pub(super) async fn again(&self) {
        pause().await;
    }

    /// Seconds since the stage began.
    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
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
