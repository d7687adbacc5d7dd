//! The controls of a measurement: their names in the report, and their display names.

use crate::text::{Texts, t};

/// A control's name in the report, and its display name.
pub(crate) type Named = (&'static str, fn(&Texts) -> &'static str);

/// Every control.
pub(crate) const CONTROLS: [Named; 7] = [
    ("first_position", |t| t.control_first),
    ("reinit_block", |t| t.control_block),
    ("reinit_model", |t| t.control_model),
    ("gaussian", |t| t.control_gaussian),
    ("cross_feed", |t| t.control_cross),
    ("cross_feed_matched", |t| t.control_matched),
    ("shuffled", |t| t.control_shuffled),
];

/// Display name of a control, by its name in the report.
pub fn control_name(key: &str) -> Option<&'static str> {
    CONTROLS.iter().find(|(known, _)| *known == key).map(|(_, name)| name(t()))
}
