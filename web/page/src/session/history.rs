//! Results kept in the browser: written as blocks finish, shown again after a reload, listed, renamed, deleted.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::error::Error;
use straightedge_api::message::Order;
use straightedge_api::report::Report;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::overlay::KeptMeasurement;
use straightedge_web::history::{KeptResult, MOST_BYTES, StoredResult, exported, sorted, surplus};
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::View;
use straightedge_web::text::history::t as h;
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, File};

use super::browser::{now, scroll_to_results};
use super::history_state::Current;
use super::state::Session;
use crate::store::Store;

/// Key of the shown result in the session storage, which a reload keeps and a new tab lacks.
const SHOWN: &str = "straightedge shown";
/// Tells other tabs that the list has changed.
const CHANNEL: &str = "straightedge results";

impl Session {
    /// Reads the list, shows the result of before a reload again, and keeps results from now on.
    pub(super) fn keep_results(self) {
        self.show_last();
        self.follow_results();
        spawn_local(async move {
            match Store::open().await {
                Ok(store) => {
                    self.history.store.set(Some(store));
                    self.listen_to_tabs();
                    self.list_results().await;
                }
                Err(why) => self.history.refused.set(Some(why)),
            }
        });
    }

    fn listen_to_tabs(self) {
        // Without it, the list of this tab is as old as its last change.
        let Ok(channel) = BroadcastChannel::new(CHANNEL) else { return };
        let list = Closure::<dyn Fn()>::new(move || spawn_local(self.list_results()));
        channel.set_onmessage(Some(list.into_js_value().unchecked_ref()));
        self.history.channel.set_value(Some(channel));
    }

    async fn list_results(self) {
        let Some(store) = self.history.store.get_untracked() else { return };
        match store.entries().await {
            Ok(entries) => self.history.entries.set(Some(sorted(entries))),
            Err(why) => self.history.refused.set(Some(why)),
        }
    }

    /// Once the list is read, shows the result that was open before a reload, or the partial result of an unfinished
    /// measurement, unless something else is shown by then.
    fn show_last(self) {
        let last = shown();
        Effect::new(move |is_done: Option<bool>| {
            if is_done == Some(true) {
                return true;
            }
            let of_unfinished = |entries: &Vec<KeptResult>| {
                self.unfinished.with(|unfinished| {
                    let unfinished = unfinished.as_ref()?;
                    entries.iter().find(|entry| entry.is_of(unfinished)).map(|entry| entry.id.clone())
                })
            };
            let found = self.history.entries.with(|entries| last.clone().or_else(|| of_unfinished(entries.as_ref()?)));
            match found.filter(|_| self.history.entries.with_untracked(Option::is_some)) {
                Some(id) => {
                    self.open_kept(id, true);
                    true
                }
                None => false,
            }
        });
    }

    fn follow_results(self) {
        let changed = Memo::new(move |_| {
            self.run.with(|run| (run.number(), run.results(), run.phase().id(), run.provenance().clone()))
        });
        Effect::new(move |_| {
            // A memo that nobody has read yet follows nothing.
            changed.with(|_| ());
            if self.history.store.with(Option::is_none) {
                return;
            }
            let origin = self.run.with_untracked(Run::origin);
            show_after_reload(origin.and_then(|origin| self.entry_of(origin)).map(|entry| entry.id).as_deref());
            self.write_result();
        });
    }

    /// Deletes what was kept of a measurement whose weights turned out to be damaged.
    pub(super) fn delete_damaged(self) {
        let damaged = self.run.with_untracked(|run| {
            let is_damaged = matches!(run.phase(), Phase::Failed(Error::DamagedWeights { .. }));
            run.origin().filter(|_| is_damaged && run.blocks().is_empty())
        });
        if let Some(entry) = damaged.and_then(|origin| self.entry_of(origin)) {
            self.history.current.set_value(None);
            self.delete_kept(entry.id);
        }
    }

    /// Writes the measurement shown; a change while it is being written is written afterwards.
    fn write_result(self) {
        if !self.run.with_untracked(is_own) {
            return;
        }
        if self.history.writing.get_value().0 {
            return self.history.writing.set_value((true, true));
        }
        self.history.writing.set_value((true, false));
        spawn_local(async move {
            loop {
                self.write_now().await;
                let (_, is_old) = self.history.writing.get_value();
                self.history.writing.set_value((is_old, false));
                if !is_old {
                    break;
                }
            }
        });
    }

    async fn write_now(self) {
        let Some(store) = self.history.store.get_untracked() else { return };
        let found = self.run.with_untracked(|run| Some((run.origin()?, run.report().filter(|_| is_own(run))?.clone())));
        let Some((origin, report)) = found else { return };
        // What was only opened is there, and writing it would look like a change to other tabs.
        let is_as_kept = self.entry_of(origin).is_some_and(|entry| entry.saved.is_some())
            && self.run.with_untracked(|run| run.results() == 0);
        if is_as_kept {
            return;
        }
        let Ok(json) = serde_json::to_string(&report) else { return };
        let id = self.key_to_write(origin);
        let (entry, deleted) = self.history.entries.with_untracked(|entries| {
            let entries = entries.as_deref().unwrap_or_default();
            let earlier = entries.iter().find(|entry| entry.id == id);
            let entry = KeptResult::new(&id, &report, now(), json.len() as u64, earlier);
            let deleted = surplus(entries, &entry, MOST_BYTES);
            (entry, deleted)
        });
        let Some(deleted) = deleted else {
            return self.history.refused.set(Some(h().full.into()));
        };
        let (id, saved) = (entry.id.clone(), entry.saved.clone());
        let result = StoredResult::new(entry, self.ordered.get_value().map(|(order, _)| order));
        match store.put(&result, Some(&json), &deleted).await {
            Ok(()) => {
                self.history.current.update_value(|current| {
                    if let Some(entry) = current.as_mut().filter(|entry| entry.id == id) {
                        entry.saved = Some(saved);
                    }
                });
                self.results_changed().await;
            }
            Err(why) => self.history.refused.set(Some(why)),
        }
    }

    /// The entry of the measurement with this first order, if it is the one shown.
    pub(super) fn entry_of(self, origin: u32) -> Option<Current> {
        self.history.current.get_value().filter(|entry| entry.origin == origin)
    }

    /// The key of a measurement, which its extensions share.
    pub(super) fn key_of(self, origin: u32) -> String {
        self.entry_of(origin).map_or_else(|| self.new_key(origin), |entry| entry.id)
    }

    fn new_key(self, origin: u32) -> String {
        let id = format!("{} {}", now(), js_sys::Math::random());
        self.history.current.set_value(Some(Current { origin, id: id.clone(), saved: None }));
        id
    }

    /// The same for writing: another one once another tab has written the entry, because each holds what the other lacks.
    fn key_to_write(self, origin: u32) -> String {
        let is_of_another = |current: &Current| {
            self.history.entries.with_untracked(|entries| {
                let listed = entries.iter().flatten().find(|entry| entry.id == current.id);
                listed.is_some_and(|listed| current.saved.as_ref().is_none_or(|saved| listed.saved > *saved))
            })
        };
        let id = match self.entry_of(origin) {
            Some(current) if is_of_another(&current) => self.new_key(origin),
            _ => self.key_of(origin),
        };
        show_after_reload(Some(&id));
        id
    }

    /// Gives a measurement that turned out to be another than the one it was to continue an entry of its own.
    pub(super) fn part_from_earlier(self) {
        self.history.current.set_value(None);
    }

    async fn results_changed(self) {
        self.history.channel.with_value(|channel| {
            // Other tabs read the list anew when they change it themselves.
            channel.as_ref().map(|channel| channel.post_message(&JsValue::NULL))
        });
        self.list_results().await;
    }

    /// Shows a kept result; if `is_restored`, only in place of what is known without measuring.
    pub(crate) fn open_kept(self, id: String, is_restored: bool) {
        self.with_kept(id.clone(), move |StoredResult { entry, order }, report| {
            let is_free = self.run.with_untracked(Run::is_untouched) && self.fetching.with_untracked(Option::is_none);
            if self.run.with_untracked(Run::is_running) || (is_restored && !is_free) {
                return;
            }
            let (block, unfinished) = (self.block.get_untracked(), self.unfinished.get_untracked());
            self.keep();
            self.complaint.set(None);
            self.introduced.set(None);
            let number = self.next_number();
            self.history.current.set_value(Some(Current { origin: number, id: id.clone(), saved: Some(entry.saved) }));
            self.show(Run::received(number, report, Provenance::Here));
            self.unfinished.set(unfinished);
            self.can_extend.set(order.is_some());
            self.ordered.set_value(order.map(|order| (order, Vec::<File>::new())));
            if is_restored {
                self.block.set(block);
            } else {
                self.open_view(View::Profile);
                scroll_to_results();
            }
            self.load_published_if_any();
        });
    }

    /// Adds a kept result to the comparison.
    pub(crate) fn compare_kept(self, id: String) {
        self.with_kept(id, move |StoredResult { entry, .. }, report| {
            let number = self.next_number();
            let name = entry.shown().to_string();
            self.push_kept(KeptMeasurement { name, ..KeptMeasurement::new(number, false, report) });
            self.comparison.update(|comparison| comparison.add(Key::Measured(number)));
            self.open_view(View::Compare);
            scroll_to_results();
        });
    }

    fn with_kept(self, id: String, action: impl FnOnce(StoredResult, Report) + 'static) {
        let is_listed = |entries: &Option<Vec<KeptResult>>| entries.iter().flatten().any(|entry| entry.id == id);
        // A reload asks for the result shown before, which may have been deleted.
        let Some(store) = self.history.store.get_untracked().filter(|_| self.history.entries.with_untracked(is_listed))
        else {
            return;
        };
        spawn_local(async move {
            let read = async { Ok((store.entry(&id).await?, store.report(&id).await?)) };
            match read.await {
                // What this browser kept may be of another version of the page.
                Ok((result, json)) => match Report::from_json(result.entry.shown(), &json) {
                    Ok(report) => action(result, report),
                    Err(error) => self.complaint.set(Some(error)),
                },
                Err(why) => self.history.refused.set(Some(why)),
            }
        });
    }

    /// Changes name or pin of a kept result.
    pub(crate) fn change_kept(self, id: String, change: impl FnOnce(&mut KeptResult) + 'static) {
        let Some(store) = self.history.store.get_untracked() else { return };
        spawn_local(async move {
            let write = async {
                let mut result = store.entry(&id).await?;
                change(&mut result.entry);
                store.put(&result, None, &[]).await
            };
            match write.await {
                Ok(()) => self.results_changed().await,
                Err(why) => self.history.refused.set(Some(why)),
            }
        });
    }

    /// Deletes a kept result; if it is shown, it stays on the page.
    pub(crate) fn delete_kept(self, id: String) {
        let Some(store) = self.history.store.get_untracked() else { return };
        spawn_local(async move {
            match store.delete(&id).await {
                Ok(()) => self.results_changed().await,
                Err(why) => self.history.refused.set(Some(why)),
            }
        });
    }

    /// One file with all kept results.
    pub(crate) async fn export_kept(self) -> Option<String> {
        let store = self.history.store.get_untracked()?;
        let mut results = Vec::new();
        for entry in self.history.entries.get_untracked()? {
            if let Ok(report) = store.report(&entry.id).await {
                results.push((entry, report));
            }
        }
        Some(exported(&results))
    }

    /// Passes on the run in which an unfinished measurement resumes, and its order if that is known. The run continues
    /// in the history entry of its partial result and keeps that result.
    pub(super) fn with_begun(self, number: u32, result: &str, action: impl FnOnce(Run, Option<Order>) + 'static) {
        let (id, store) = (result.to_owned(), self.history.store.get_untracked());
        spawn_local(async move {
            let read = async {
                let store = store?;
                let result = store.entry(&id).await.ok()?;
                let report = Report::from_json(result.entry.shown(), &store.report(&id).await.ok()?).ok()?;
                Some((result, report))
            };
            let read = read.await;
            // Something else may have begun while it was read.
            if self.run.with_untracked(Run::is_running) {
                return;
            }
            let (saved, run, order) = match read {
                Some((StoredResult { entry, order }, report)) => {
                    (Some(entry.saved), Run::received(number, report, Provenance::Here).extend(number), order)
                }
                None => (None, Run::start(number, None), None),
            };
            self.history.current.set_value(Some(Current { origin: number, id, saved }));
            action(run, order);
        });
    }
}

fn shown() -> Option<String> {
    window().session_storage().ok().flatten()?.get_item(SHOWN).ok().flatten()
}

/// Some frames deny storage; a reload then shows what the page begins with.
fn show_after_reload(id: Option<&str>) {
    let Some(storage) = window().session_storage().ok().flatten() else { return };
    let _ = match id {
        Some(id) => storage.set_item(SHOWN, id),
        None => storage.remove_item(SHOWN),
    };
}

/// Whether a measurement of this page has results.
fn is_own(run: &Run) -> bool {
    !run.is_untouched() && *run.provenance() == Provenance::Here && !run.blocks().is_empty()
}
