//! Exit statuses and error output.

use std::io::{Write, stderr};

use straightedge::error::Error;
use straightedge::visible::visible;

/// The result of a command as an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Done = 0,
    Different = 1,
    BadInput = 2,
    Interrupted = 130,
}

impl Status {
    /// Prints `error` and returns its status.
    pub(super) fn failed(error: &Error) -> Self {
        print_error(error);
        if *error == Error::Cancelled { Self::Interrupted } else { Self::BadInput }
    }
}

/// One line on standard error: `straightedge: WHAT: WHY; WHAT TO DO`.
pub(super) fn print_error(error: &Error) {
    print_line(&format!("straightedge: {}", error.sentence()));
}

/// One line on standard error, of which nothing can control the terminal. A terminal that is gone is no error.
pub(super) fn print_line(line: &str) {
    let _ = writeln!(stderr(), "{}", visible(line));
}
