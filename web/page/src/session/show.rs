//! Changes what is shown: another measurement, one of its blocks.

use leptos::prelude::*;
use leptos::reactive::graph::Source;
use straightedge_web::state::frame::Frame;
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;

use super::browser::scroll_to_results;
use super::state::Session;

impl Session {
    /// Shows another measurement, with nothing highlighted.
    pub(super) fn show(self, run: Run) {
        set_and_forget_readers(self.display.focus, None);
        set_and_forget_readers(self.display.block, None);
        set_and_forget_readers(self.compared.overlay, None);
        set_and_forget_readers(self.results.repeated, None);
        set_and_forget_readers(self.results.shared, None);
        self.results.replaced.set_value(None);
        set_and_forget_readers(self.results.run, run);
    }

    /// Shows the replaced result again if the measurement has ended without any block.
    pub(super) fn show_replaced(self) {
        let has_nothing = self.results.run.with_untracked(|run| !run.is_running() && run.blocks().is_empty());
        if !has_nothing {
            return;
        }
        let Some((run, kept, entry)) = self.results.replaced.try_update_value(Option::take).flatten() else { return };
        if let Phase::Failed(error) = self.results.run.with_untracked(|run| run.phase().clone()) {
            self.choices.complaint.set(Some(error));
        }
        self.history.current.set_value(entry);
        self.show(run);
        self.compared.kept.set(kept);
        self.results.set_order(None);
    }

    /// Shows one block in detail, if it is measured and the views are not hidden.
    pub(crate) fn open_block(self, block: usize) {
        let is_known = self.results.run.with_untracked(|run| run.blocks().iter().any(|known| known.block == block));
        if is_known && self.display.frame.with_untracked(Frame::has_views) {
            self.display.choose_block(Some(block));
            self.display.open_view(View::Block);
            scroll_to_results();
        }
    }

    /// Whether a button other than the measuring ones is emphasised. Only one is at a time: the lesson's while that is
    /// open, else the view's.
    pub(crate) fn calls_elsewhere(self) -> bool {
        let is_embedded = self.display.frame.with(|frame| frame.is_embedded);
        !is_embedded && (self.guide.step.get().is_some() || self.display.view.get() == View::Continuation)
    }
}

/// Sets a signal and clears its subscribers, which come and go, such as rows of a table. Leptos keeps an entry for
/// every subscriber that ever existed; those that still exist read the new value and so subscribe again.
fn set_and_forget_readers<T: Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    signal.set(value);
    signal.clear_subscribers();
}
