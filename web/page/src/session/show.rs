//! Changes what is shown: another measurement, one of its blocks.

use leptos::prelude::*;
use straightedge_web::state::frame::Part;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;

use super::browser::look_at_results;
use super::state::Session;

impl Session {
    /// Shows another measurement, with nothing highlighted.
    pub(super) fn show(self, run: Run) {
        self.focus.set(None);
        self.block.set(None);
        self.overlay.set(None);
        self.repeated.set(None);
        self.run.set(run);
    }

    /// Shows one block in detail, if it was measured and the views are not hidden.
    pub(crate) fn open_block(self, block: usize) {
        let is_known = self.run.with_untracked(|run| run.blocks().iter().any(|known| known.block == block));
        if is_known && self.frame.with_untracked(|frame| !frame.is_embedded && !frame.hidden.contains(&Part::Views)) {
            self.block.set(Some(block));
            self.view.set(View::Block);
            look_at_results();
        }
    }

    /// Whether a button other than the measuring ones is emphasised. Only one is at a time: the lesson's while that is
    /// open, else the view's.
    pub(crate) fn calls_elsewhere(self) -> bool {
        let is_embedded = self.frame.with(|frame| frame.is_embedded);
        !is_embedded && (self.guide.step.get().is_some() || self.view.get() == View::Continuation)
    }
}
