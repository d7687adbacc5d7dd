//! What the page and its worker share, and all of the page that needs no browser to be tested.
//!
//! In reading order: [`text`] is what people read, [`state`] what is chosen and what has arrived, [`chart`] draws,
//! [`figures`] and [`comparison`] make charts of reports, [`continuation`] and [`lesson`] are two views with a state of
//! their own, and [`url`] carries what is chosen and shown in a link.

pub mod browser;
pub mod chart;
pub mod comparison;
pub mod continuation;
pub mod export;
pub mod figures;
pub mod lesson;
pub mod state;
pub mod text;
pub mod url;
