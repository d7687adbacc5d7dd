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
use crate::link::Link;
use crate::start::Start;

impl Session {
    /// The page as it opens.
    pub(crate) fn new(start: Start) -> Self {
        let session = Self { requested_language: start.address.language, ..Self::empty() };
        session.begin(start);
        session
    }

    /// Applies the address, or chooses the first model.
    fn begin(self, start: Start) {
        let Start { address, refused, shared, index, recording, texts, missing } = start;
        self.texts.set(texts);
        self.index.set(Some(index));
        self.refused.set(refused);
        self.complaint.set(missing);
        if address.is_first() {
            self.open_first(recording);
            self.follow(address);
        } else {
            self.choose_address(address);
        }
        self.open_shared(shared);
    }

    fn open_first(self, recording: Option<Report>) {
        let Some(report) = recording else { return self.choose_bundled(FIRST) };
        self.pick_bundled(FIRST);
        self.run.set(Run::recorded(report));
    }

    /// Starts the engine, and keeps the preview up to date from now on.
    pub(crate) fn connect(self) {
        self.link.set_value(Some(Link::open(move |reply| self.receive(&reply))));
        self.follow_choice();
        self.keep_blocks_apart();
        self.follow_texts();
        self.keep_lesson();
        self.keep_address();
        self.follow_fragments();
        self.keep_results();
    }

    fn receive(self, reply: &Reply) {
        match reply {
            Reply::Device(device) => self.device.set(Some(Ok(device.clone()))),
            Reply::Crashed(error) => self.crashed(error.clone()),
            Reply::Ended { run, memory } => self.ended.set((*run, *memory)),
            Reply::Storage(shelf) => self.storage.set(Some(shelf.clone())),
            Reply::Unfinished(found) => self.unfinished.set(found.clone()),
            Reply::Ready => announce("engine ready"),
            Reply::Event { .. } | Reply::Previewing { .. } | Reply::Preflight { .. } | Reply::CorpusSize { .. } => {}
        }
        self.receive_preview(reply);
        let had_blocks = self.run.with_untracked(|run| !run.blocks().is_empty());
        self.run.update(|run| run.receive(reply));
        let is_start = matches!(reply, Reply::Event { event: Event::Started(_), .. });
        if is_start && had_blocks && self.run.with_untracked(|run| run.blocks().is_empty()) {
            self.part_from_earlier();
        }
        self.delete_damaged();
        self.show_replaced();
        self.continuation.update(|continuation| continuation.receive(reply));
        match reply {
            Reply::Event { event: Event::Started(_), .. } => self.load_published_if_any(),
            Reply::Event { run, event: Event::Finished(_) } => self.keep_fit(*run),
            _ => {}
        }
    }

    /// A running measurement reports a crash itself.
    fn crashed(self, error: Error) {
        self.device.update(|device| {
            device.get_or_insert(Err(error.clone()));
        });
        let is_reported =
            self.run.with_untracked(Run::is_running) || self.continuation.with_untracked(ContinuationState::is_running);
        if !is_reported {
            self.complaint.set(Some(error));
        }
    }
}
