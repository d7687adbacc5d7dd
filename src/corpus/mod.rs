//! The text of a measurement: tokens, windows, folds.
