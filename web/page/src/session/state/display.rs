//! What is in view: the open view, and what is chosen and highlighted in it.

use leptos::prelude::*;
use straightedge_web::state::frame::{Frame, Part};
use straightedge_web::state::views::View;
use straightedge_web::text::language::Language;

use crate::permalink::Entry;

/// What is in view.
#[derive(Clone, Copy, Default)]
pub(crate) struct Display {
    /// The open view.
    pub(crate) view: RwSignal<View>,
    /// The block that views of one block show; `None` follows the latest.
    pub(crate) block: RwSignal<Option<usize>>,
    /// The block highlighted in chart and table.
    pub(crate) focus: RwSignal<Option<usize>>,
    /// The sampled row that passes through the drawing of a block.
    pub(crate) row: RwSignal<usize>,
    /// The sampled row to highlight in the scatter, until the scatter shows it.
    pub(crate) pointed: RwSignal<Option<usize>>,
    /// The definition that is shown.
    pub(crate) defined: RwSignal<Option<Definition>>,
    /// The parts of the page that are shown.
    pub(crate) frame: RwSignal<Frame>,
    /// The language that the link asks for.
    pub(crate) requested_language: Option<Language>,
    /// The kind of history entry for the current state.
    entry: StoredValue<Entry>,
}

/// A definition, and where it is shown on the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// The definition.
    pub(crate) text: String,
    /// Distance from the left.
    pub(crate) left: f64,
    /// Distance from the top.
    pub(crate) top: f64,
}

impl Display {
    /// Opens a view, as one step that Back undoes.
    pub(crate) fn open_view(self, view: View) {
        if self.view.get_untracked() != view {
            self.entry.set_value(Entry::New);
            self.view.set(view);
        }
    }

    /// Chooses the block that views of one block show, as one step that Back undoes.
    pub(crate) fn choose_block(self, block: Option<usize>) {
        if self.block.get_untracked() != block {
            self.entry.set_value(Entry::New);
            self.block.set(block);
        }
    }

    /// The history entry of the current state: new if a view or block was opened since the last call.
    pub(in crate::session) fn take_entry(self) -> Entry {
        self.entry.try_update_value(std::mem::take).unwrap_or_default()
    }

    /// Shows the row that passes through the drawing of a block in the scatter of all rows.
    pub(crate) fn point_at_row(self) {
        if self.frame.with_untracked(Frame::has_views) {
            self.open_view(View::Block);
            self.pointed.set(Some(self.row.get_untracked()));
        }
    }

    /// Whether a link neither hides nor locks a part.
    pub(in crate::session) fn is_free(self, part: Part) -> bool {
        self.frame.with_untracked(|frame| !frame.locked.contains(&part) && !frame.hidden.contains(&part))
    }
}
