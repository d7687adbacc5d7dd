//! The controls of a measurement: their names in the report, and what people call them.

use crate::text::{Texts, t};

/// A control's name in the report, and its name for people.
pub(crate) type Named = (&'static str, fn(&Texts) -> &'static str);

/// Every control.
pub(crate) const CONTROLS: [Named; 6] = [
    ("first_position", |t| t.control_first),
    ("reinit_block", |t| t.control_block),
    ("reinit_model", |t| t.control_model),
    ("gaussian", |t| t.control_gaussian),
    ("cross_feed", |t| t.control_cross),
    ("cross_feed_matched", |t| t.control_matched),
];

/// What a control is called, by its name in the report.
pub fn control_name(key: &str) -> Option<&'static str> {
    CONTROLS.iter().find(|(known, _)| *known == key).map(|(_, name)| name(t()))
}
