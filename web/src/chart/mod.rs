//! Charts: numbers go in, SVG text comes out. No signals, no browser.
//!
//! Colours and fonts come from the page's style sheet by class names, so that one chart serves light and dark.
//! [`profile`] is the page's first chart; all others are a [`plot::Plot`] drawn by [`draw`].

pub mod draw;
pub mod mechanism;
pub mod paper;
pub mod plot;
pub mod profile;
pub mod scale;
mod shape;
mod svg;
