//! A yield point in a long computation, where the caller can report progress or cancel.

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
