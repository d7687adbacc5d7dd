//! Why a PyTorch file cannot be read: it is damaged, or intact but of a kind that is not read.

use crate::error::Error;

/// A fault, which the caller completes with the file's name.
#[derive(Debug)]
pub(super) enum Fault {
    /// It contradicts itself or the format.
    Damaged(String),
    /// It holds more than plain tensors, or holds them in another way.
    Unsupported(String),
    /// Its source failed.
    Source(Error),
}

impl Fault {
    /// The error about `file`.
    pub(super) fn of(self, file: &str) -> Error {
        match self {
            Self::Damaged(why) => Error::MalformedTorch { file: file.into(), why },
            Self::Unsupported(why) => Error::UnsupportedTorch { file: file.into(), why },
            Self::Source(error) => error,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Source(error)
    }
}

/// A contradiction.
pub(super) fn damaged(why: impl Into<String>) -> Fault {
    Fault::Damaged(why.into())
}

/// Something that is not read.
pub(super) fn unsupported(why: impl Into<String>) -> Fault {
    Fault::Unsupported(why.into())
}

/// Untrusted text for a message: short, without control characters.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { '?' } else { c }).collect()
}
