//! Looking ahead: whenever the choice changes, the engine is asked what it would come to, and the answer kept.

use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use straightedge_api::event::{Event, Stage};
use straightedge_api::hub::id::HubId;
use straightedge_api::message::{Deletion, ModelSource, Order, Reply, Work};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::run::Run;

use super::state::{Preview, Session};

/// Milliseconds without a change after which the engine is asked: somebody may be typing.
const CALM: u32 = 400;

impl Preview {
    /// What is still true of another question: a model stays what it is when the text changes.
    fn next(&self, number: u32, order: &Order) -> Self {
        let same_model =
            self.asked.as_ref().is_some_and(|asked| model(asked).is_some() && model(asked) == model(order));
        let preflight = self.preflight.clone().filter(|_| same_model);
        Self { number, asked: Some(plain(order)), is_busy: true, preflight, rate: self.rate, ..Self::default() }
    }
}

impl Session {
    /// From now on follows the form, while nothing is measured.
    pub(crate) fn follow_choice(self) {
        let timer: StoredValue<Option<Timeout>, LocalStorage> = StoredValue::new_local(None);
        Effect::new(move |_| {
            self.form.track();
            self.index.track();
            let is_running = self.run.with(Run::is_running);
            let ask = Timeout::new(CALM, move || self.ask());
            timer.set_value((!is_running).then_some(ask));
        });
        self.request_storage(Deletion::Nothing);
    }

    /// Asks even the same again: the files behind its names are others.
    pub(crate) fn refresh_preview(self) {
        self.preview.update(|preview| preview.is_stale = true);
    }

    /// Knows nothing any more: another model was chosen, or the same to be looked up once more.
    pub(crate) fn restart_preview(self) {
        self.preview.update(|preview| *preview = Preview { rate: preview.rate, ..Preview::default() });
    }

    /// Drops the question under way; what it was about is asked again afterwards.
    pub(crate) fn stop_looking(self) {
        let number = self.preview.with_untracked(|preview| preview.is_busy.then_some(preview.number));
        if let Some(number) = number {
            self.with_link(|link| link.forget(number));
            self.preview.update(|preview| (preview.is_busy, preview.is_stale) = (false, true));
        }
    }

    /// Asks what is in the browser's storage, once some of it is deleted.
    pub(crate) fn request_storage(self, deletion: Deletion) {
        if deletion != Deletion::Nothing {
            self.refresh_preview();
            self.form.notify();
        }
        self.with_link(|link| link.request_storage(deletion));
    }

    /// The order for the very revision that was told about.
    pub(crate) fn as_looked_up(self, mut order: Order) -> Order {
        let told = self.preview.with_untracked(|preview| match &preview.preflight {
            Some(Ok(preflight)) if preview.asked.as_ref().and_then(model) == model(&order) => {
                Some(preflight.id.clone())
            }
            _ => None,
        });
        if let (Work::Model { model: ModelSource::Hub { id, .. }, .. }, Some(told)) = (&mut order.work, told) {
            *id = told;
        }
        order
    }

    fn ask(self) {
        let index = self.index.get_untracked().unwrap_or_default();
        let number = self.next_number();
        let order = self.form.with_untracked(|form| form.preview(number, &index));
        let Some(order) = order else {
            self.stop_looking();
            return self.restart_preview();
        };
        if self.preview.with_untracked(|preview| !preview.is_stale && preview.asked == Some(plain(&order))) {
            return;
        }
        self.preview.update(|preview| *preview = preview.next(number, &order));
        let handles = self.handles_of(&order);
        self.with_link(|link| link.preview(order, &handles));
    }

    /// Takes in what an answer says.
    pub(crate) fn receive_preview(self, reply: &Reply) {
        self.watch_download(reply);
        let current = self.preview.with_untracked(|preview| preview.number);
        match reply {
            Reply::Looking { run, event: Event::Progress(progress) }
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
            Reply::Ended { .. } => {
                // A measurement may have downloaded something.
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

    /// The model on the hub with the commit that was found, so that a link repeats the measurement.
    pub(crate) fn found(self) -> Option<HubId> {
        self.preview.with(|preview| match &preview.preflight {
            Some(Ok(preflight)) => Some(preflight.id.clone()),
            _ => None,
        })
    }
}

/// The order by itself, for comparison with another.
fn plain(order: &Order) -> Order {
    Order { run: 0, ..order.clone() }
}

/// The model of an order that is on the hub.
fn model(order: &Order) -> Option<&ModelSource> {
    match &order.work {
        Work::Model { model: model @ ModelSource::Hub { .. }, .. } => Some(model),
        _ => None,
    }
}
