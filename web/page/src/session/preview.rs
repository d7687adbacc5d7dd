//! The preview: when the choice changes, the page requests its size and cost from the engine and keeps the answer.

use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use straightedge_api::event::{Event, Stage};
use straightedge_api::message::{Deletion, Reply};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::run::Run;

use super::state::Session;

/// Milliseconds without a change before the request is sent, because the user may be typing.
const CALM: u32 = 400;

impl Session {
    /// Follows the form from now on, while nothing is measured.
    pub(crate) fn follow_choice(self) {
        let timer: StoredValue<Option<Timeout>, LocalStorage> = StoredValue::new_local(None);
        Effect::new(move |_| {
            self.choices.form.track();
            self.choices.index.track();
            let is_running = self.results.run.with(Run::is_running);
            let request = Timeout::new(CALM, move || self.request_preview());
            timer.set_value((!is_running).then_some(request));
        });
        self.request_storage(Deletion::Nothing);
    }

    /// Cancels the request in progress; it is sent again later.
    pub(crate) fn cancel_preview(self) {
        let number = self.choices.preview.with_untracked(|preview| preview.is_busy.then_some(preview.number));
        if let Some(number) = number {
            self.engine.with_link(|link| link.forget(number));
            self.choices.preview.update(|preview| (preview.is_busy, preview.is_stale) = (false, true));
        }
    }

    /// Requests the contents of the browser's storage, after an optional deletion.
    pub(crate) fn request_storage(self, deletion: Deletion) {
        if self.choices.has_chosen(&deletion) {
            self.forget_preview();
        } else if deletion != Deletion::Nothing {
            self.choices.refresh_preview();
            self.choices.form.notify();
        }
        self.engine.with_link(|link| link.request_storage(deletion));
    }

    /// Clears the preview until the choice changes. A new request would download and store again what the user has just
    /// deleted.
    fn forget_preview(self) {
        self.cancel_preview();
        self.choices.clear_preview(self.choices.preview_order(0).as_ref());
    }

    fn request_preview(self) {
        let number = self.engine.next_number();
        let Some(order) = self.choices.preview_order(number) else {
            self.cancel_preview();
            return self.choices.clear_preview(None);
        };
        if self.choices.preview.with_untracked(|preview| preview.answers(&order)) {
            return;
        }
        self.choices.preview.update(|preview| *preview = preview.next(number, &order));
        let handles = self.choices.handles_of(&order);
        self.engine.with_link(|link| link.preview(order, &handles));
    }

    /// Stores an answer.
    pub(crate) fn receive_preview(self, reply: &Reply) {
        self.choices.watch_download(reply);
        let current = self.choices.preview.with_untracked(|preview| preview.number);
        match reply {
            Reply::Previewing { run, event: Event::Progress(progress) }
                if *run == current && progress.stage == Stage::Tokenize =>
            {
                self.choices.preview.update(|preview| preview.progress = Some(*progress));
            }
            Reply::Preflight { run, found } if *run == current => {
                self.choices.preview.update(|preview| preview.preflight = Some(found.clone()));
            }
            Reply::CorpusSize { run, found } if *run == current => {
                self.choices.preview.update(|preview| (preview.extent, preview.progress) = (Some(found.clone()), None));
            }
            Reply::Ended { run, .. } if *run == current => {
                self.choices.preview.update(|preview| (preview.is_busy, preview.progress) = (false, None));
            }
            // It is not asked again by itself, because it might crash again.
            Reply::Crashed(_) => {
                self.choices.preview.update(|preview| (preview.is_busy, preview.progress) = (false, None));
            }
            // A measurement may have downloaded weights. The end of a cancelled preview asks for no other preview.
            Reply::Ended { run, .. } if self.has_ordered(*run) => {
                if self.choices.form.with_untracked(|form| matches!(form.model, ModelChoice::Hub(_))) {
                    self.choices.refresh_preview();
                    self.choices.form.notify();
                }
                self.request_storage(Deletion::Nothing);
            }
            _ => {}
        }
    }
}
