//! A place to stop for a moment: lets the caller of a long computation report progress or drop it.

use std::future::poll_fn;
use std::task::Poll;

/// Hands control back to the executor once and asks to be called again.
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
