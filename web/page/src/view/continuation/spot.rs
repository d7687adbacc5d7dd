//! The highlighted token, which every part of the view shows.

/// A highlighted token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) step: usize,
    /// Whether it is in the linear model's text.
    pub(super) is_linear: bool,
}
