//! What a command came to, and how errors are told.

use straightedge::error::Error;

/// What a command came to, as an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Done = 0,
    Different = 1,
    BadInput = 2,
    Interrupted = 130,
}

/// One line on standard error: `straightedge: WHAT: WHY; WHAT TO DO`.
pub(super) fn complain(error: &Error) {
    eprintln!("straightedge: {error}");
}
