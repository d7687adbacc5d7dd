//! Changes what is shown: another measurement, one of its blocks.

use leptos::prelude::*;
use leptos::reactive::graph::Source;
use straightedge_web::state::frame::Part;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;

use super::browser::scroll_to_results;
use super::state::Session;
use crate::permalink::Entry;

impl Session {
    /// Shows another measurement, with nothing highlighted.
    pub(super) fn show(self, run: Run) {
        set_and_forget_readers(self.focus, None);
        set_and_forget_readers(self.block, None);
        set_and_forget_readers(self.overlay, None);
        set_and_forget_readers(self.repeated, None);
        set_and_forget_readers(self.shared, None);
        self.replaced.set_value(None);
        set_and_forget_readers(self.run, run);
    }

    /// Shows the replaced result again if the measurement has ended without any block.
    pub(super) fn show_replaced(self) {
        let has_nothing = self.run.with_untracked(|run| !run.is_running() && run.blocks().is_empty());
        if !has_nothing {
            return;
        }
        let Some((run, kept, entry)) = self.replaced.try_update_value(Option::take).flatten() else { return };
        if let Phase::Failed(error) = self.run.with_untracked(|run| run.phase().clone()) {
            self.complaint.set(Some(error));
        }
        self.history.current.set_value(entry);
        self.show(run);
        self.kept.set(kept);
        self.ordered.set_value(None);
        self.can_extend.set(false);
    }

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
    pub(super) fn take_entry(self) -> Entry {
        self.entry.try_update_value(|entry| std::mem::replace(entry, Entry::Same)).unwrap_or(Entry::Same)
    }

    /// Shows the row that passes through the drawing of a block in the scatter of all rows.
    pub(crate) fn point_at_row(self) {
        if self.frame.with_untracked(|frame| !frame.is_embedded && !frame.hidden.contains(&Part::Views)) {
            self.open_view(View::Block);
            self.pointed.set(Some(self.row.get_untracked()));
        }
    }

    /// Shows one block in detail, if it is measured and the views are not hidden.
    pub(crate) fn open_block(self, block: usize) {
        let is_known = self.run.with_untracked(|run| run.blocks().iter().any(|known| known.block == block));
        if is_known && self.frame.with_untracked(|frame| !frame.is_embedded && !frame.hidden.contains(&Part::Views)) {
            self.choose_block(Some(block));
            self.open_view(View::Block);
            scroll_to_results();
        }
    }

    /// Whether a button other than the measuring ones is emphasised. Only one is at a time: the lesson's while that is
    /// open, else the view's.
    pub(crate) fn calls_elsewhere(self) -> bool {
        let is_embedded = self.frame.with(|frame| frame.is_embedded);
        !is_embedded && (self.guide.step.get().is_some() || self.view.get() == View::Continuation)
    }
}

/// Sets a signal and clears its subscribers, which come and go, such as rows of a table. Leptos keeps an entry for
/// every subscriber that ever existed; those that still exist read the new value and so subscribe again.
fn set_and_forget_readers<T: Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    signal.set(value);
    signal.clear_subscribers();
}
