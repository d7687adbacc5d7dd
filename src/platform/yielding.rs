//! Yield points: in a long computation, where the caller can report progress or cancel, and while waiting for a browser.

use std::future::poll_fn;
use std::task::Poll;

/// Yields to the executor once.
pub async fn yield_now() {
    let mut paused = false;
    poll_fn(move |context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Lets the browser report other events for `ms` milliseconds; returns at once natively.
pub(crate) async fn pause(ms: u32) {
    #[cfg(target_arch = "wasm32")]
    gloo_timers::future::TimeoutFuture::new(ms).await;
    #[cfg(not(target_arch = "wasm32"))]
    let _ = ms;
}
