//! The event stream of a running measurement. Polling it does the work, dropping it cancels.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
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
use crate::trace::{Lane, TraceSpan};
use crate::weights::Files;
use crate::workers::{WorkTime, unix_seconds};

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
        let emitter = Emitter { sender, warnings: Rc::default(), started: Instant::now() };
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

/// Sends the events of the running work.
#[derive(Clone)]
pub(super) struct Emitter {
    sender: UnboundedSender<Event>,
    warnings: Rc<RefCell<Vec<Warning>>>,
    started: Instant,
}

impl Emitter {
    /// Seconds since the start of the work.
    pub(super) fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Awaits `work` and reports its span at the end.
    pub(super) async fn span<R>(&self, lane: Lane, block: Option<usize>, work: impl Future<Output = R>) -> R {
        let start = self.elapsed();
        let (mut work, mut busy) = (pin!(work), 0.0);
        let done = poll_fn(|context| {
            let polled = Instant::now();
            let found = work.as_mut().poll(context);
            busy += polled.elapsed().as_secs_f64();
            found
        })
        .await;
        let seconds = self.elapsed() - start;
        self.send(Event::Span(TraceSpan { lane, worker: 0, block, start, seconds, busy }));
        done
    }

    /// Reports the span of the helper worker with index `helper`, if its reply has times.
    pub(super) fn helper_span(&self, lane: Lane, block: usize, (helper, time): (usize, Option<WorkTime>)) {
        let Some(WorkTime { start, end, busy }) = time else { return };
        // The engine's own clock counts from the start of the work.
        let began = unix_seconds() - self.elapsed();
        let span = TraceSpan {
            lane,
            worker: helper + 1,
            block: Some(block),
            start: start - began,
            seconds: end - start,
            busy,
        };
        self.send(Event::Span(span));
    }

    /// Queues an event. Closing the stream also drops the work, so no receiver can miss it.
    pub(super) fn send(&self, event: Event) {
        let _ = self.sender.unbounded_send(event);
    }

    /// Queues an event and yields, so that the stream's owner can process it or cancel.
    pub(super) async fn emit(&self, event: Event) {
        self.send(event);
        yield_now().await;
    }

    /// Queues a warning, unless it was given already: a resumed sweep finds those of its beginning again.
    pub(super) fn warn(&self, warning: Warning) {
        if self.warnings.borrow().contains(&warning) {
            return;
        }
        self.warnings.borrow_mut().push(warning.clone());
        self.send(Event::Warning(warning));
    }

    /// Passes on the events of a source of files, and its warnings.
    pub(super) fn listen_to(&self, files: &dyn Files) {
        let out = self.clone();
        files.listen(Rc::new(move |event| out.send(event)));
        files.warnings().into_iter().for_each(|warning| self.warn(warning));
    }

    /// All warnings so far.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.warnings.borrow().clone()
    }

    /// Starts a stage and returns its meter.
    pub(super) fn stage(&self, stage: Stage, total: u64) -> StageMeter {
        let meter = self.paused_stage(stage, total);
        meter.resume();
        meter
    }

    /// The meter of a stage that starts later or runs in pieces.
    pub(super) fn paused_stage(&self, stage: Stage, total: u64) -> StageMeter {
        let (done, spent, since) = (Cell::new(None), Cell::new(0.0), Cell::new(None));
        StageMeter { emitter: self.clone(), stage, total, done, spent, since }
    }
}

/// Reports the progress of a stage and the time it has run, pauses excluded.
pub(super) struct StageMeter {
    emitter: Emitter,
    stage: Stage,
    total: u64,
    /// Amount done; `None` before the stage begins.
    done: Cell<Option<u64>>,
    /// Seconds up to the last pause.
    spent: Cell<f64>,
    /// Start of the current run; `None` while paused.
    since: Cell<Option<Instant>>,
}

impl StageMeter {
    /// Starts or resumes the stage.
    pub(super) fn resume(&self) {
        if self.since.get().is_none() {
            self.since.set(Some(Instant::now()));
        }
        if self.done.get().is_none() {
            self.report(0, self.total);
        }
    }

    /// Pauses the clock until the next `resume`.
    pub(super) fn pause(&self) {
        self.spent.set(self.seconds());
        self.since.set(None);
    }

    /// Awaits `work`. Only the time spent polling it counts, because other work runs concurrently.
    pub(super) async fn during<R>(&self, work: impl Future<Output = R>) -> R {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            self.resume();
            let polled = work.as_mut().poll(context);
            self.pause();
            polled
        })
        .await
    }

    /// Queues the amount done; `total` may change from call to call.
    pub(super) fn report(&self, done: u64, total: u64) {
        self.done.set(Some(done));
        let progress = Progress { stage: self.stage, done, total, seconds: self.seconds() };
        self.emitter.send(Event::Progress(progress));
    }

    /// Reports the amount done and yields, so that the stream's owner can cancel.
    pub(super) async fn reach(&self, done: u64) {
        self.report_and_yield(done, self.total).await;
    }

    /// [`StageMeter::reach`] with a total that may change.
    pub(super) async fn report_and_yield(&self, done: u64, total: u64) {
        self.report(done, total);
        yield_now().await;
    }

    /// Adds to the amount done and queues it.
    pub(super) fn add(&self, more: u64) {
        self.report(self.done.get().unwrap_or(0) + more, self.total);
    }

    /// Adds to the amount done, reports it and yields.
    pub(super) async fn advance(&self, more: u64) {
        self.add(more);
        yield_now().await;
    }

    /// Yields without a report, so that the stream's owner can cancel.
    pub(super) async fn yield_now(&self) {
        yield_now().await;
    }

    /// Seconds the stage has run.
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
            out.warn(Warning { code: "test".into(), block: None, text: "first".into() });
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
