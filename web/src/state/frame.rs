//! How much of the page a link shows: all of it, one chart in somebody else's page, or what a class is to work with.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What is there, and what can be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Nothing but the result, with a link back.
    pub is_embedded: bool,
    /// Parts that are not there.
    pub hidden: BTreeSet<Part>,
    /// Parts that cannot be changed.
    pub locked: BTreeSet<Part>,
}

/// A part of the page that a teacher can take away or hold still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The choice of a model.
    Model,
    /// The choice of a text.
    Text,
    /// Rows, windows, folds, measures.
    Protocol,
    /// What downloads have left, and the mirror.
    Downloads,
    /// The tabs of the other views.
    Views,
    /// The view in which the model goes on with a prompt.
    Continuation,
}

impl Part {
    /// All parts, as they stand on the page.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Text, Self::Protocol, Self::Downloads, Self::Views, Self::Continuation];
    /// Those that can be held still: they are choices.
    pub const CHOICES: [Self; 3] = [Self::Model, Self::Text, Self::Protocol];
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
