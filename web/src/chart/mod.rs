//! Charts: numbers go in, SVG text comes out. No signals, no browser.
//!
//! Colours and fonts come from the page's style sheet by class names, so that one chart serves light and dark.

pub mod profile;
mod svg;
