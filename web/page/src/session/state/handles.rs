//! Handles of the user's files.

use straightedge_api::message::{ModelSource, Order, OrderInputs, TextSource};
use web_sys::File;

/// Handles of the user's files. The files never leave the machine; only handles are passed on.
#[derive(Clone, Default)]
pub(in crate::session) struct Handles {
    pub(in crate::session) model: Vec<File>,
    pub(in crate::session) text: Option<File>,
    pub(in crate::session) rows: Option<File>,
}

impl Handles {
    /// The handles chosen now, if they were chosen for a measurement of these names.
    pub(in crate::session) fn of_names(&self, model: &str, text: &str) -> Vec<File> {
        if let Some(rows) = self.rows.iter().find(|rows| rows.name() == model) {
            return vec![rows.clone()];
        }
        self.model.iter().chain(self.text.iter().filter(|file| file.name() == text)).cloned().collect()
    }

    /// The handles an order needs, in its order.
    pub(super) fn of(&self, order: &Order) -> Vec<File> {
        let OrderInputs::Model { model, text, .. } = &order.work else { return self.rows.iter().cloned().collect() };
        let model = if matches!(model, ModelSource::Handles { .. }) { self.model.as_slice() } else { &[] };
        let text = self.text.as_ref().filter(|_| *text == TextSource::Handle);
        model.iter().chain(text).cloned().collect()
    }
}
