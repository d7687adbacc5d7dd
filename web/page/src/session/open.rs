//! Opening the page, starting the engine, and handling its replies.

use leptos::prelude::*;
use straightedge_api::error::Error;
use straightedge_api::event::Event;
use straightedge_api::message::Reply;
use straightedge_api::report::Report;
use straightedge_web::continuation::ContinuationState;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::run::Run;

use super::browser::announce;
use super::state::Session;
use crate::start::{Comparable, Start};

impl Session {
    /// The page as it opens.
    pub(crate) fn new(start: Start) -> Self {
        let Start { address, refused, shared, index, recording, texts, comparable, missing } = start;
        let mut session = Self::default();
        session.display.requested_language = address.language;
        session.continued.texts.set(texts);
        session.choices.index.set(Some(index));
        session.choices.refused.set(refused);
        session.choices.complaint.set(missing);
        if address.is_first() {
            session.open_first(recording);
            session.follow(address);
        } else {
            session.choose_address(address);
        }
        if let Some(Comparable { recorded, published, atlas }) = comparable {
            session.compared.recorded.set(Some(recorded));
            session.compared.published.set(Some(published));
            session.receive_atlas(atlas);
        }
        session.open_shared(shared);
        session
    }

    fn open_first(self, recording: Option<Report>) {
        let Some(report) = recording else { return self.choose_bundled(FIRST) };
        self.choices.choose_bundled(FIRST);
        self.results.run.set(Run::recorded(report));
    }

    /// Starts the engine, and keeps the preview up to date from now on.
    pub(crate) fn connect(self) {
        self.engine.start(move |reply| self.receive(&reply));
        self.follow_choice();
        self.keep_blocks_apart();
        self.follow_texts();
        self.guide.keep();
        self.keep_address();
        self.follow_fragments();
        self.keep_results();
    }

    fn receive(self, reply: &Reply) {
        match reply {
            Reply::Device(device) => self.engine.device.set(Some(Ok(device.clone()))),
            Reply::Crashed(error) => self.crashed(error.clone()),
            Reply::Ended { run, memory } => self.engine.ended.set((*run, *memory)),
            Reply::Storage(report) => self.engine.storage.set(Some(report.clone())),
            Reply::Unfinished(found) => self.engine.unfinished.set(found.clone()),
            Reply::Ready => announce("engine ready"),
            Reply::Event { .. } | Reply::Previewing { .. } | Reply::Preflight { .. } | Reply::CorpusSize { .. } => {}
        }
        self.receive_preview(reply);
        let had_blocks = self.results.run.with_untracked(|run| !run.blocks().is_empty());
        self.results.run.update(|run| run.receive(reply));
        let is_start = matches!(reply, Reply::Event { event: Event::Started(_), .. });
        if is_start && had_blocks && self.results.run.with_untracked(|run| run.blocks().is_empty()) {
            // It does not continue the earlier measurement, so it gets its own entry.
            self.history.current.set_value(None);
        }
        self.delete_damaged();
        self.show_replaced();
        self.continued.state.update(|continuation| continuation.receive(reply));
        match reply {
            Reply::Event { event: Event::Started(_), .. } => self.load_published_if_any(),
            Reply::Event { run, event: Event::Finished(_) } => self.keep_fit(*run),
            _ => {}
        }
    }

    /// A running measurement reports a crash itself.
    fn crashed(self, error: Error) {
        self.engine.device.update(|device| {
            device.get_or_insert(Err(error.clone()));
        });
        if !untrack(|| self.is_busy()) {
            self.choices.complaint.set(Some(error));
        }
    }

    /// Whether this is the number of the latest measurement or continuation, and not of a preview.
    pub(super) fn has_ordered(self, number: u32) -> bool {
        self.results.run.with_untracked(|run| run.number() == number)
            || self.continued.state.with_untracked(|continuation| continuation.number() == number)
    }

    /// Whether the engine measures or continues a prompt.
    pub(crate) fn is_busy(self) -> bool {
        self.results.run.with(Run::is_running) || self.continued.state.with(ContinuationState::is_running)
    }
}
