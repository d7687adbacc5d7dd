//! The overlay of the profile as a value of a link.

use std::fmt;

use super::given::is_plain;

/// Prefix of a corpus of published values.
const PUBLISHED: &str = "published:";
/// Prefix of a bundled model whose recording is the overlay.
const RECORDED: &str = "recorded:";

/// An overlay that a link can carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkedOverlay {
    /// Values of the model published on this corpus.
    Published(String),
    /// The recording of a bundled model.
    Recorded(String),
}

impl LinkedOverlay {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let plain = |name: &str| is_plain(name).then(|| name.to_string());
        match value.strip_prefix(PUBLISHED) {
            Some(corpus) => plain(corpus).map(Self::Published),
            None => plain(value.strip_prefix(RECORDED)?).map(Self::Recorded),
        }
    }
}

impl fmt::Display for LinkedOverlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(corpus) => write!(f, "{PUBLISHED}{corpus}"),
            Self::Recorded(model) => write!(f, "{RECORDED}{model}"),
        }
    }
}
