//! The preview: when the choice changes, the page requests its size and cost from the engine and keeps the answer.

use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use straightedge_api::event::{Event, Stage};
use straightedge_api::hub::id::HubId;
use straightedge_api::message::{Deletion, ModelSource, Order, Reply, Work};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::run::Run;

use super::state::{Preview, Session};

/// Milliseconds without a change before the request is sent, because the user may be typing.
const CALM: u32 = 400;

impl Preview {
    /// The parts that stay valid for another request: a new text does not change the model.
    fn next(&self, number: u32, order: &Order) -> Self {
        let same_model = self
            .requested
            .as_ref()
            .is_some_and(|requested| model(requested).is_some() && model(requested) == model(order));
        let preflight = self.preflight.clone().filter(|_| same_model);
        Self { number, requested: Some(plain(order)), is_busy: true, preflight, rate: self.rate, ..Self::default() }
    }
}

impl Session {
    /// Follows the form from now on, while nothing is measured.
    pub(crate) fn follow_choice(self) {
        let timer: StoredValue<Option<Timeout>, LocalStorage> = StoredValue::new_local(None);
        Effect::new(move |_| {
            self.form.track();
            self.index.track();
            let is_running = self.run.with(Run::is_running);
            let request = Timeout::new(CALM, move || self.request_preview());
            timer.set_value((!is_running).then_some(request));
        });
        self.request_storage(Deletion::Nothing);
    }

    /// Repeats the request even if it is unchanged, because the files behind its names have changed.
    pub(crate) fn refresh_preview(self) {
        self.preview.update(|preview| preview.is_stale = true);
    }

    /// Clears the preview: another model was chosen, or the same is to be looked up again.
    pub(crate) fn restart_preview(self) {
        self.preview.update(|preview| *preview = Preview { rate: preview.rate, ..Preview::default() });
    }

    /// Cancels the request in progress; it is sent again later.
    pub(crate) fn cancel_preview(self) {
        let number = self.preview.with_untracked(|preview| preview.is_busy.then_some(preview.number));
        if let Some(number) = number {
            self.with_link(|link| link.forget(number));
            self.preview.update(|preview| (preview.is_busy, preview.is_stale) = (false, true));
        }
    }

    /// Requests the contents of the browser's storage, after an optional deletion.
    pub(crate) fn request_storage(self, deletion: Deletion) {
        if self.has_chosen(&deletion) {
            self.forget_preview();
        } else if deletion != Deletion::Nothing {
            self.refresh_preview();
            self.form.notify();
        }
        self.with_link(|link| link.request_storage(deletion));
    }

    /// Whether a deletion removes files of the chosen model.
    fn has_chosen(self, deletion: &Deletion) -> bool {
        let is_of_hub = self.form.with_untracked(|form| matches!(form.model, ModelChoice::Hub(_)));
        match deletion {
            Deletion::Nothing => false,
            Deletion::One { name } => is_of_hub && self.found().is_some_and(|found| found.to_string() == *name),
            Deletion::Everything => is_of_hub,
        }
    }

    /// Clears the preview until the choice changes. A new request would download and store again what the user has just
    /// deleted.
    fn forget_preview(self) {
        self.cancel_preview();
        let index = self.index.get_untracked().unwrap_or_default();
        let requested = self.form.with_untracked(|form| form.preview(0, &index)).as_ref().map(plain);
        self.preview.update(|preview| *preview = Preview { requested, rate: preview.rate, ..Preview::default() });
    }

    /// The order with the exact revision that the preview showed.
    pub(crate) fn with_found_revision(self, mut order: Order) -> Order {
        let found_id = self.preview.with_untracked(|preview| match &preview.preflight {
            Some(Ok(preflight)) if preview.requested.as_ref().and_then(model) == model(&order) => {
                Some(preflight.id.clone())
            }
            _ => None,
        });
        if let (Work::Model { model: ModelSource::Hub { id, .. }, .. }, Some(found_id)) = (&mut order.work, found_id) {
            *id = found_id;
        }
        order
    }

    fn request_preview(self) {
        let index = self.index.get_untracked().unwrap_or_default();
        let number = self.next_number();
        let order = self.form.with_untracked(|form| form.preview(number, &index));
        let Some(order) = order else {
            self.cancel_preview();
            return self.restart_preview();
        };
        if self.preview.with_untracked(|preview| !preview.is_stale && preview.requested == Some(plain(&order))) {
            return;
        }
        self.preview.update(|preview| *preview = preview.next(number, &order));
        let handles = self.handles_of(&order);
        self.with_link(|link| link.preview(order, &handles));
    }

    /// Stores an answer.
    pub(crate) fn receive_preview(self, reply: &Reply) {
        self.watch_download(reply);
        let current = self.preview.with_untracked(|preview| preview.number);
        match reply {
            Reply::Previewing { run, event: Event::Progress(progress) }
                if *run == current && progress.stage == Stage::Tokenize =>
            {
                self.preview.update(|preview| preview.progress = Some(*progress));
            }
            Reply::Preflight { run, found } if *run == current => {
                self.preview.update(|preview| preview.preflight = Some(found.clone()));
            }
            Reply::CorpusSize { run, found } if *run == current => {
                self.preview.update(|preview| (preview.extent, preview.progress) = (Some(found.clone()), None));
            }
            Reply::Ended { run, .. } if *run == current => {
                self.preview.update(|preview| (preview.is_busy, preview.progress) = (false, None));
            }
            // It is not asked again by itself, because it might crash again.
            Reply::Crashed(_) => {
                self.preview.update(|preview| (preview.is_busy, preview.progress) = (false, None));
            }
            Reply::Ended { .. } => {
                // A measurement may have downloaded files.
                if self.form.with_untracked(|form| matches!(form.model, ModelChoice::Hub(_))) {
                    self.refresh_preview();
                    self.form.notify();
                }
                self.request_storage(Deletion::Nothing);
            }
            _ => {}
        }
    }

    fn watch_download(self, reply: &Reply) {
        if let Reply::Event { event: Event::Progress(progress), .. } = reply
            && progress.stage == Stage::Download
            && let Some(rate) = progress.rate()
        {
            self.preview.update(|preview| preview.rate = Some(rate));
        }
    }

    /// The hub model with the commit that was found, so that a link repeats the measurement.
    pub(crate) fn found(self) -> Option<HubId> {
        self.preview.with(|preview| match &preview.preflight {
            Some(Ok(preflight)) => Some(preflight.id.clone()),
            _ => None,
        })
    }
}

/// The order without its number and key, for comparison with another.
fn plain(order: &Order) -> Order {
    Order { run: 0, result: String::new(), ..order.clone() }
}

/// The hub model of an order, if it has one.
fn model(order: &Order) -> Option<&ModelSource> {
    match &order.work {
        Work::Model { model: model @ ModelSource::Hub { .. }, .. } => Some(model),
        _ => None,
    }
}
