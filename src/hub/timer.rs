//! Limits of one request in time: it breaks when no byte arrives for a while, and when it takes too long as a whole.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use futures::future::{Either, LocalBoxFuture, select};

use super::http::{Body, Failure, Http};

/// Seconds without a single byte after which a connection counts as broken.
const STALL: f64 = 60.0;
/// Seconds granted to a request on top of the time its bytes may take.
const PATIENCE: f64 = 120.0;
/// Bytes per second of the slowest connection that is still worth waiting for.
const SLOWEST: f64 = 2000.0;

/// The timer of one request.
pub(super) struct RequestTimer {
    http: Rc<dyn Http>,
    limit: f64,
    over: LocalBoxFuture<'static, ()>,
}

impl RequestTimer {
    /// Starts it for a request of `bytes`.
    pub(super) fn start(http: Rc<dyn Http>, bytes: u64) -> Self {
        let limit = PATIENCE + bytes as f64 / SLOWEST;
        let over = http.sleep(limit);
        Self { http, limit, over }
    }

    /// Waits for a part of the request.
    pub(super) async fn guard<T>(&mut self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match select(pin!(work), select(self.http.sleep(STALL), &mut self.over)).await {
            Either::Left((done, _)) => done,
            Either::Right((Either::Left(_), _)) => Err(Failure::Network(format!("no data for {STALL} seconds"))),
            Either::Right((Either::Right(_), _)) => {
                Err(Failure::Slow(format!("it was not complete after {:.0} seconds", self.limit)))
            }
        }
    }

    /// The body of its response, received within the limits.
    pub(super) fn body(self, body: Box<dyn Body>) -> Box<dyn Body> {
        Box::new(TimedBody { timer: self, body })
    }
}

struct TimedBody {
    timer: RequestTimer,
    body: Box<dyn Body>,
}

impl Body for TimedBody {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(async move { self.timer.guard(self.body.chunk()).await })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{poll_fn, ready};
    use std::task::Poll;

    use futures::executor::block_on;

    use super::super::http::{HttpRequest, Response};
    use super::*;

    /// A clock that a test moves.
    #[derive(Clone, Default)]
    struct Clock(Rc<Cell<f64>>);

    impl Http for Clock {
        fn get<'a>(&'a self, _request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
            Box::pin(ready(Err(Failure::Network("no network".into()))))
        }

        fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()> {
            let (clock, until) = (self.0.clone(), self.0.get() + seconds);
            Box::pin(poll_fn(move |_| if clock.get() >= until { Poll::Ready(()) } else { Poll::Pending }))
        }
    }

    /// A byte after every so many seconds, or nothing but time where they exceed the stall.
    struct Drip(Clock, f64);

    impl Body for Drip {
        fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
            let mut waited = 0.0;
            Box::pin(poll_fn(move |context| {
                let step = self.1.min(10.0);
                self.0.0.set(self.0.0.get() + step);
                waited += step;
                context.waker().wake_by_ref();
                if waited >= self.1 { Poll::Ready(Ok(Some(vec![1]))) } else { Poll::Pending }
            }))
        }
    }

    /// Bytes until the request breaks, and why.
    fn received(seconds: f64, bytes: u64) -> (usize, Failure) {
        let clock = Clock::default();
        let timer = RequestTimer::start(Rc::new(clock.clone()), bytes);
        let mut body = timer.body(Box::new(Drip(clock, seconds)));
        let mut count = 0;
        loop {
            match block_on(body.chunk()) {
                Ok(_) => count += 1,
                Err(failure) => return (count, failure),
            }
        }
    }

    #[test]
    fn a_body_that_drips_ends_and_one_that_stops_ends_sooner() {
        let (count, failure) = received(50.0, 0);
        assert!(
            count == 2 && matches!(&failure, Failure::Slow(why) if why.contains("120 seconds")),
            "{count} {failure}"
        );
        let (count, failure) = received(50.0, 2_000_000);
        assert!(count == 22 && matches!(&failure, Failure::Slow(why) if why.contains("1120 seconds")), "{count}");
        let (count, failure) = received(70.0, 2_000_000);
        assert!(count == 0 && matches!(&failure, Failure::Network(why) if why.contains("60 seconds")), "{count}");
    }
}
