//! Code shared by the page and its worker, and all of the page that is testable without a browser.
//!
//! Reading order: [`text`] holds the texts, [`state`] the choices and results, [`chart`] draws, [`figures`] and
//! [`comparison`] turn reports into charts, [`continuation`] and [`lesson`] are two views with a state of their own,
//! and [`url`] writes choices and views as a link. [`export`], [`citation`] and [`history`] take results elsewhere.

pub mod browser;
pub mod chart;
pub mod citation;
pub mod comparison;
pub mod continuation;
pub mod export;
pub mod figures;
pub mod history;
pub mod lesson;
pub mod state;
pub mod text;
pub mod url;
