//! What the visitor has chosen to measure: model, text and settings, and what is known of them before measuring.

use leptos::prelude::*;
use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::event::Event;
use straightedge_api::event::Stage;
use straightedge_api::hub::id::HubId;
use straightedge_api::message::{Deletion, ModelSource, Order, OrderInputs, Reply};
use straightedge_web::state::bundled::Expected;
use straightedge_web::state::form::{Form, ModelChoice, TextChoice};
use straightedge_web::state::recordings::recording;
use web_sys::File;

use super::handles::Handles;
use super::preview::Preview;
use crate::picked::Picked;

/// Everything that is chosen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Choices {
    /// Bundled models; `None` until the list has arrived.
    pub(crate) index: RwSignal<Option<Vec<Bundled>>>,
    /// The form's choices.
    pub(crate) form: RwSignal<Form>,
    /// Known results of the chosen model.
    pub(crate) expected: RwSignal<Option<Expected>>,
    /// The preview of the choice.
    pub(crate) preview: RwSignal<Preview>,
    /// Error in the form.
    pub(crate) complaint: RwSignal<Option<Error>>,
    /// Errors of the link that was followed, until something is measured.
    pub(crate) refused: RwSignal<Vec<Error>>,
    /// The user's files.
    pub(in crate::session) handles: StoredValue<Handles, LocalStorage>,
}

impl Choices {
    /// Changes the form to another model.
    pub(in crate::session) fn choose(self, change: impl FnOnce(&mut Form)) {
        self.complaint.set(None);
        self.expected.set(None);
        self.form.update(change);
    }

    /// Chooses a bundled model and its text, without its known results.
    pub(in crate::session) fn choose_bundled(self, name: &str) -> Option<Bundled> {
        let bundled = self.bundled().into_iter().find(|bundled| bundled.name == name)?;
        self.choose(|form| form.choose_bundled(&bundled));
        Some(bundled)
    }

    /// Takes a file as the text, regardless of its name.
    pub(crate) fn take_text(self, picked: Picked) {
        self.complaint.set(None);
        self.form.update(|form| {
            form.text = TextChoice::File;
            form.local_text = Some(picked.file.name());
        });
        self.handles.update_value(|handles| handles.text = Some(picked.file));
        self.refresh_preview();
    }

    /// The bundled models, as far as they are known now.
    pub(in crate::session) fn bundled(self) -> Vec<Bundled> {
        self.index.get_untracked().unwrap_or_default()
    }

    /// Title of a bundled model; any other model's id.
    pub(crate) fn title_of(self, id: &str) -> String {
        self.index.with(|index| {
            let bundled = index.iter().flatten().find(|bundled| bundled.name == id);
            bundled.map_or_else(|| id.into(), |bundled| bundled.title.clone())
        })
    }

    /// Name of the chosen model in reports.
    pub(crate) fn model_name(self) -> Option<String> {
        self.form.with(|form| match &form.model {
            ModelChoice::Bundled(name) => Some(name.clone()),
            ModelChoice::Hub(id) => Some(id.split('@').next().unwrap_or(id).trim().into()),
            ModelChoice::Local => form.local_model.as_ref().map(|local| local.name.clone()),
            ModelChoice::Rows => None,
        })
    }

    /// The chosen bundled model, if it was recorded.
    pub(crate) fn recorded_model(self) -> Option<String> {
        self.with_bundled(|bundled| recording(bundled).map(|_| bundled.name.clone())).flatten()
    }

    /// Reads the bundled model that is chosen, if one is.
    pub(crate) fn with_bundled<T>(self, read: impl FnOnce(&Bundled) -> T) -> Option<T> {
        let ModelChoice::Bundled(name) = self.form.with(|form| form.model.clone()) else { return None };
        self.index.with(|index| index.iter().flatten().find(|bundled| bundled.name == name).map(read))
    }

    /// The form's measurement, of the exact revision that the preview showed.
    pub(in crate::session) fn order(self, number: u32) -> Result<Order> {
        let mut order = self.form.with_untracked(|form| form.order(number, &self.bundled()))?;
        let found = self.preview.with_untracked(|preview| preview.found_for(&order).cloned());
        if let (OrderInputs::Model { model: ModelSource::Hub { id, .. }, .. }, Some(found)) = (&mut order.work, found) {
            *id = found;
        }
        Ok(order)
    }

    /// The order whose preview the form asks for; `None` if it is incomplete.
    pub(in crate::session) fn preview_order(self, number: u32) -> Option<Order> {
        self.form.with_untracked(|form| form.preview(number, &self.bundled()))
    }

    /// The file handles of an order.
    pub(in crate::session) fn handles_of(self, order: &Order) -> Vec<File> {
        self.handles.with_value(|handles| handles.of(order))
    }

    /// The hub model with the commit that was found, so that a link repeats the measurement.
    pub(in crate::session) fn found(self) -> Option<HubId> {
        self.preview.with(|preview| preview.found().cloned())
    }

    /// The hub model of a form, with the commit if that was found.
    pub(in crate::session) fn hub_of(self, form: &Form) -> Option<HubId> {
        let ModelChoice::Hub(typed) = &form.model else { return None };
        let typed = HubId::model(typed).ok()?;
        Some(self.found().filter(|found| found.name() == typed.name()).unwrap_or(typed))
    }

    /// Whether a deletion removes files of the chosen model.
    pub(in crate::session) fn has_chosen(self, deletion: &Deletion) -> bool {
        let Some(chosen) = self.form.with_untracked(|form| self.hub_of(form)) else { return false };
        match deletion {
            Deletion::Nothing => false,
            // Before its commit is found, any revision of the model may be the chosen one.
            Deletion::One { name } if chosen.revision().is_none() => name.split('@').next() == Some(chosen.name()),
            Deletion::One { name } => chosen.to_string() == *name,
            Deletion::Everything => true,
        }
    }

    /// Repeats the preview's request even if it is unchanged, because the files behind its names have changed.
    pub(in crate::session) fn refresh_preview(self) {
        self.preview.update(|preview| preview.is_stale = true);
    }

    /// Clears the preview: another model was chosen, or the same is to be looked up again. Given an order, it is not
    /// requested again.
    pub(in crate::session) fn clear_preview(self, requested: Option<&Order>) {
        self.preview.update(|preview| *preview = preview.cleared(requested));
    }

    /// Keeps the rate of a download.
    pub(in crate::session) fn watch_download(self, reply: &Reply) {
        if let Reply::Event { event: Event::Progress(progress), .. } = reply
            && progress.stage == Stage::Download
            && let Some(rate) = progress.rate()
        {
            self.preview.update(|preview| preview.rate = Some(rate));
        }
    }
}
