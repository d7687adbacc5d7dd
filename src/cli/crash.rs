//! Turns a panic into an error, so that finished results are still written.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use straightedge::error::{Error, Result};

thread_local! {
    /// Message and place of the last panic of this thread.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; a panic in it is an error. What `work` was changing must not be used again.
pub(super) fn catch<R>(work: impl FnOnce() -> R) -> Result<R> {
    hold_back_messages();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
        // A panic of another thread arrives here as its payload alone.
        let why = LAST.take().or(message).unwrap_or_else(|| "no reason is known".into());
        Error::Crashed { why: why.replace('\n', " ") }
    })
}

/// Replaces the message that a panic prints, unless a backtrace is asked for.
fn hold_back_messages() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        if std::env::var_os("RUST_BACKTRACE").is_none() {
            panic::set_hook(Box::new(|panic| LAST.set(Some(panic.to_string()))));
        }
    });
}
