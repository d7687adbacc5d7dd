//! The user's files, as far as the browser lets go of them: handles.

use straightedge_api::message::{ModelSource, Order, TextSource, Work};
use web_sys::File;

/// The user's files. They never leave the machine: only handles are passed on.
#[derive(Clone, Default)]
pub(super) struct Handles {
    pub(super) model: Vec<File>,
    pub(super) text: Option<File>,
    pub(super) rows: Option<File>,
}

impl Handles {
    /// Those that are chosen now, where they were chosen for a measurement of these names.
    pub(super) fn of_names(&self, model: &str, text: &str) -> Vec<File> {
        if let Some(rows) = self.rows.iter().find(|rows| rows.name() == model) {
            return vec![rows.clone()];
        }
        self.model.iter().chain(self.text.iter().filter(|file| file.name() == text)).cloned().collect()
    }

    /// The handles that an order speaks of, in its order.
    pub(super) fn of(&self, order: &Order) -> Vec<File> {
        let Work::Model { model, text } = &order.work else { return self.rows.iter().cloned().collect() };
        let model = if matches!(model, ModelSource::Handles { .. }) { self.model.as_slice() } else { &[] };
        let text = self.text.as_ref().filter(|_| *text == TextSource::Handle);
        model.iter().chain(text).cloned().collect()
    }
}
