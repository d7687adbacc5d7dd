//! The token that is pointed at, which every part of the view shows in its way.

/// A token that is pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) step: usize,
    /// Whether in the linear model's text.
    pub(super) is_linear: bool,
}
