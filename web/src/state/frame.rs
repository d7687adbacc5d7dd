//! The parts of the page that a link shows: all, one chart embedded in another page, or those for a class.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Visible and unlocked parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Whether only the result is shown, with a link back.
    pub is_embedded: bool,
    /// Hidden parts.
    pub hidden: BTreeSet<Part>,
    /// Locked parts.
    pub locked: BTreeSet<Part>,
}

/// A part of the page that a teacher can hide or lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The choice of a model.
    Model,
    /// The choice of a text.
    Text,
    /// Rows, windows, folds, measures.
    Protocol,
    /// Stored downloads, and the mirror.
    Downloads,
    /// The tabs of the other views.
    Views,
    /// The continuation view.
    Continuation,
}

impl Part {
    /// All parts, in page order.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Text, Self::Protocol, Self::Downloads, Self::Views, Self::Continuation];
    /// Parts that can be locked, because they are choices.
    pub const CHOICES: [Self; 3] = [Self::Model, Self::Text, Self::Protocol];
}

impl Frame {
    /// Whether the other views can be opened.
    pub fn has_views(&self) -> bool {
        !self.is_embedded && !self.hidden.contains(&Part::Views)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::Text => "text",
            Self::Protocol => "protocol",
            Self::Downloads => "downloads",
            Self::Views => "views",
            Self::Continuation => "sides",
        })
    }
}

impl FromStr for Part {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|part| part.to_string() == name).ok_or(())
    }
}
