//! Choosing a model and a text: bundled ones, those on the hub, the user's own files.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::bundled::Bundled;
use straightedge_web::browser::fetch;
use straightedge_web::state::bundled::path;
use straightedge_web::state::folder::{Chosen, Folder, select_model_files};
use straightedge_web::state::form::{LocalModel, ModelChoice, TextChoice, find};
use straightedge_web::state::recordings::FIRST;

use super::state::Session;
use crate::picked::Picked;

impl Session {
    /// Chooses a bundled model and its text.
    pub(crate) fn choose_bundled(self, name: &str) {
        let Some(bundled) = self.pick_bundled(name) else { return };
        if let Some(file) = &bundled.expected {
            spawn_local(self.load_expected(bundled.name.clone(), path(&bundled, file)));
        }
        self.forget_results_of_model();
        self.show_recording(&bundled);
    }

    /// Chooses a bundled model by an untrusted name.
    pub(crate) fn choose_named(self, name: &str) {
        self.choose_bundled(name);
        if self.form.with_untracked(|form| form.model != ModelChoice::Bundled(name.into())) {
            self.choose_bundled(FIRST);
            let index = self.index.get_untracked().unwrap_or_default();
            self.complaint.set(find(&index, name).err());
        }
    }

    /// The same without its known results.
    pub(super) fn pick_bundled(self, name: &str) -> Option<Bundled> {
        let found = |bundled: &&Bundled| bundled.name == name;
        let bundled = self.index.with_untracked(|index| index.iter().flatten().find(found).cloned())?;
        self.complaint.set(None);
        self.form.update(|form| form.choose_bundled(&bundled));
        self.expected.set(None);
        Some(bundled)
    }

    /// Chooses the user's own model; its files may still be missing.
    pub(crate) fn choose_local(self) {
        self.complaint.set(None);
        self.expected.set(None);
        self.form.update(|form| form.choose(ModelChoice::Local));
        self.forget_results_of_model();
    }

    /// Chooses a model on the hub.
    pub(crate) fn choose_hub(self, id: &str) {
        self.complaint.set(None);
        self.expected.set(None);
        self.restart_preview();
        let index = self.index.get_untracked().unwrap_or_default();
        self.form.update(|form| form.choose_hub(id, &index));
        self.forget_results_of_model();
        // The address of a page has become a name.
        let chosen = self.form.with_untracked(|form| form.model.clone());
        if let ModelChoice::Hub(name) = chosen {
            self.introduce(&name);
        }
    }

    /// Chooses captured rows; the file may still be missing.
    pub(crate) fn choose_rows(self) {
        self.complaint.set(None);
        self.expected.set(None);
        self.form.update(|form| form.choose(ModelChoice::Rows));
        self.forget_results_of_model();
    }

    /// Takes a file as captured rows, regardless of its name.
    pub(crate) fn take_rows(self, picked: Picked) {
        self.choose_rows();
        self.form.update(|form| form.local_rows = Some((picked.file.name(), picked.file.size() as u64)));
        self.handles.update_value(|handles| handles.rows = Some(picked.file));
        self.refresh_preview();
    }

    /// Takes files and detects their kind: a model, a text, rows or a report.
    pub(crate) fn take(self, picked: Vec<Picked>) {
        let paths: Vec<_> = picked.iter().map(|picked| picked.path.clone()).collect();
        match select_model_files(&paths) {
            Ok(Chosen::Model(folder)) => self.take_model(folder, &picked),
            Ok(Chosen::Text(at)) => self.take_text(picked[at].clone()),
            Ok(Chosen::Rows(at)) => self.take_rows(picked[at].clone()),
            Ok(Chosen::Report(at)) => self.open_report(picked[at].file.clone()),
            Err(error) => self.complaint.set(Some(error)),
        }
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

    fn take_model(self, folder: Folder, picked: &[Picked]) {
        self.choose_local();
        let files: Vec<_> = folder.files.iter().map(|(at, _)| picked[*at].file.clone()).collect();
        let local = LocalModel {
            name: folder.name.unwrap_or_else(|| "local-model".into()),
            files: folder.files.into_iter().map(|(_, name)| name).collect(),
            bytes: files.iter().map(|file| file.size() as u64).sum(),
        };
        self.form.update(|form| form.local_model = Some(local));
        self.handles.update_value(|handles| handles.model = files);
        self.refresh_preview();
    }

    async fn load_expected(self, name: String, path: String) {
        let loaded = fetch::json(&path).await;
        let still_chosen = self.form.with_untracked(|form| form.model == ModelChoice::Bundled(name));
        match loaded {
            Ok(expected) if still_chosen => self.expected.set(Some(expected)),
            Ok(_) => {}
            Err(error) => self.complaint.set(Some(error)),
        }
    }
}
