//! Which threads are those of the running execution: only their panics are its own.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::thread;

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread one of the execution, or no longer one.
pub(super) fn set(is_own: bool) {
    IS_OWN.set(is_own);
}

/// Whether this thread is one of the execution.
pub(super) fn is_own() -> bool {
    IS_OWN.get()
}

/// Runs a target's work in a thread of its own, whose panic is a panic of the target.
pub fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let is_own = is_own();
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            set(is_own);
            work()
        });
        running.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
