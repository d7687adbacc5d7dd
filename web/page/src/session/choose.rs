//! Choosing a model and a text: bundled ones, those on the hub, the user's own files.

use leptos::prelude::*;
use straightedge_web::state::bundled::path;
use straightedge_web::state::folder::{Chosen, Folder, select_model_files};
use straightedge_web::state::form::{LocalModel, ModelChoice, find};
use straightedge_web::state::recordings::FIRST;

use super::state::Session;
use crate::picked::Picked;

impl Session {
    /// Chooses a bundled model and its text.
    pub(crate) fn choose_bundled(self, name: &str) {
        let Some(bundled) = self.choices.choose_bundled(name) else { return };
        if let Some(file) = &bundled.expected {
            let chosen = ModelChoice::Bundled(bundled.name.clone());
            self.fetch(path(&bundled, file), move |expected| {
                if self.choices.form.with_untracked(|form| form.model == chosen) {
                    self.choices.expected.set(Some(expected));
                }
            });
        }
        self.forget_results_of_model();
        self.show_recording(&bundled);
    }

    /// Chooses a bundled model by an untrusted name.
    pub(crate) fn choose_named(self, name: &str) {
        self.choose_bundled(name);
        if self.choices.form.with_untracked(|form| form.model != ModelChoice::Bundled(name.into())) {
            self.choose_bundled(FIRST);
            self.choices.complaint.set(find(&self.choices.bundled(), name).err());
        }
    }

    /// Chooses the user's own model or captured rows; the files may still be missing.
    pub(crate) fn choose_own(self, model: ModelChoice) {
        self.choices.choose(|form| form.choose(model));
        self.forget_results_of_model();
    }

    /// Chooses a model on the hub.
    pub(crate) fn choose_hub(self, id: &str) {
        self.choices.clear_preview(None);
        self.choices.choose(|form| form.choose_hub(id, &self.choices.bundled()));
        self.forget_results_of_model();
        // The address of a page has become a name.
        let chosen = self.choices.form.with_untracked(|form| form.model.clone());
        if let ModelChoice::Hub(name) = chosen {
            self.introduce(&name);
        }
    }

    /// Takes a file as captured rows, regardless of its name.
    pub(crate) fn take_rows(self, picked: Picked) {
        self.choose_own(ModelChoice::Rows);
        self.choices.form.update(|form| form.local_rows = Some((picked.file.name(), picked.file.size() as u64)));
        self.choices.handles.update_value(|handles| handles.rows = Some(picked.file));
        self.choices.refresh_preview();
    }

    /// Takes files and detects their kind: a model, a text, rows or a report.
    pub(crate) fn take(self, picked: Vec<Picked>) {
        let paths: Vec<_> = picked.iter().map(|picked| picked.path.clone()).collect();
        match select_model_files(&paths) {
            Ok(Chosen::Model(folder)) => self.take_model(folder, &picked),
            Ok(Chosen::Text(at)) => self.choices.take_text(picked[at].clone()),
            Ok(Chosen::Rows(at)) => self.take_rows(picked[at].clone()),
            Ok(Chosen::Report(at)) => self.open_report(picked[at].file.clone()),
            Err(error) => self.choices.complaint.set(Some(error)),
        }
    }

    fn take_model(self, folder: Folder, picked: &[Picked]) {
        self.choose_own(ModelChoice::Local);
        let files: Vec<_> = folder.files.iter().map(|(at, _)| picked[*at].file.clone()).collect();
        let local = LocalModel {
            name: folder.name.unwrap_or_else(|| "local-model".into()),
            files: folder.files.into_iter().map(|(_, name)| name).collect(),
            bytes: files.iter().map(|file| file.size() as u64).sum(),
        };
        self.choices.form.update(|form| form.local_model = Some(local));
        self.choices.handles.update_value(|handles| handles.model = files);
        self.choices.refresh_preview();
    }
}
