//! The results kept in the browser: their list, the database that holds them, and the entry of the result shown.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::message::Order;
use straightedge_api::report::Report;
use straightedge_web::history::{KeptResult, MOST_BYTES, StoredResult, exported, sorted, surplus};
use straightedge_web::text::history::t as h;
use wasm_bindgen::prelude::*;
use web_sys::BroadcastChannel;

use super::super::browser::{now, show_after_reload};
use crate::store::Store;

/// Tells other tabs that the list has changed.
const CHANNEL: &str = "straightedge results";

/// The kept results.
#[derive(Clone, Copy, Default)]
pub(crate) struct History {
    /// The list, the latest first; `None` until it is read.
    pub(crate) entries: RwSignal<Option<Vec<KeptResult>>>,
    /// Why nothing can be kept.
    pub(crate) refused: RwSignal<Option<String>>,
    /// The open database.
    pub(in crate::session) store: RwSignal<Option<Store>, LocalStorage>,
    channel: StoredValue<Option<BroadcastChannel>, LocalStorage>,
    /// The entry of the measurement shown.
    pub(in crate::session) current: StoredValue<Option<Current>>,
    /// Whether a result is being written, and whether it has changed since.
    pub(in crate::session) writing: StoredValue<(bool, bool)>,
}

/// The entry in the store of the measurement shown.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::session) struct Current {
    /// Number of its first order.
    pub(in crate::session) origin: u32,
    /// Its key.
    pub(in crate::session) id: String,
    /// When this tab last read or wrote it; `None` if it did neither.
    pub(in crate::session) saved: Option<String>,
}

impl History {
    /// Opens the database and reads the list.
    pub(in crate::session) async fn open(self) {
        match Store::open().await {
            Ok(store) => {
                self.store.set(Some(store));
                self.listen_to_tabs();
                self.list().await;
            }
            Err(why) => self.refused.set(Some(why)),
        }
    }

    fn listen_to_tabs(self) {
        // Without it, the list of this tab is as old as its last change.
        let Ok(channel) = BroadcastChannel::new(CHANNEL) else { return };
        let list = Closure::<dyn Fn()>::new(move || spawn_local(self.list()));
        channel.set_onmessage(Some(list.into_js_value().unchecked_ref()));
        self.channel.set_value(Some(channel));
    }

    async fn list(self) {
        let Some(store) = self.store.get_untracked() else { return };
        match store.entries().await {
            Ok(entries) => self.entries.set(Some(sorted(entries))),
            Err(why) => self.refused.set(Some(why)),
        }
    }

    /// Lists the entries after a change, here and in other tabs, or says why it failed.
    async fn list_changed(self, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            return self.refused.set(Some(why));
        }
        self.channel.with_value(|channel| {
            // Other tabs reread the list when they change it.
            channel.as_ref().map(|channel| channel.post_message(&JsValue::NULL))
        });
        self.list().await;
    }

    /// Writes the report of the measurement with this first order, and its latest order.
    pub(in crate::session) async fn write(self, origin: u32, report: &Report, order: Option<Order>) {
        let Some(store) = self.store.get_untracked() else { return };
        let Ok(json) = serde_json::to_string(report) else { return };
        let id = self.key_to_write(origin);
        let (entry, deleted) = self.entries.with_untracked(|entries| {
            let entries = entries.as_deref().unwrap_or_default();
            let earlier = entries.iter().find(|entry| entry.id == id);
            let entry = KeptResult::new(&id, report, now(), json.len() as u64, earlier);
            let deleted = surplus(entries, &entry, MOST_BYTES);
            (entry, deleted)
        });
        let Some(deleted) = deleted else {
            return self.refused.set(Some(h().full.into()));
        };
        let (id, saved) = (entry.id.clone(), entry.saved.clone());
        let written = store.put(&StoredResult::new(entry, order), Some(&json), &deleted).await;
        self.current.update_value(|current| {
            if let Some(entry) = current.as_mut().filter(|entry| written.is_ok() && entry.id == id) {
                entry.saved = Some(saved);
            }
        });
        self.list_changed(written).await;
    }

    /// The entry of the measurement with this first order, if it is the one shown.
    pub(in crate::session) fn entry_of(self, origin: u32) -> Option<Current> {
        self.current.get_value().filter(|entry| entry.origin == origin)
    }

    /// The key of a measurement, which its extensions share.
    pub(in crate::session) fn key_of(self, origin: u32) -> String {
        self.entry_of(origin).map_or_else(|| self.new_key(origin), |entry| entry.id)
    }

    fn new_key(self, origin: u32) -> String {
        let id = format!("{} {}", now(), js_sys::Math::random());
        self.current.set_value(Some(Current { origin, id: id.clone(), saved: None }));
        id
    }

    /// Key to write to: a new one if another tab wrote this entry.
    fn key_to_write(self, origin: u32) -> String {
        let is_of_another = |current: &Current| {
            self.entries.with_untracked(|entries| {
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

    /// Changes name or pin of a kept result.
    pub(crate) fn change(self, id: String, change: impl FnOnce(&mut KeptResult) + 'static) {
        let Some(store) = self.store.get_untracked() else { return };
        spawn_local(async move {
            let write = async {
                let mut result = store.entry(&id).await?;
                change(&mut result.entry);
                store.put(&result, None, &[]).await
            };
            self.list_changed(write.await).await;
        });
    }

    /// Deletes a kept result; if it is shown, it stays on the page.
    pub(crate) fn delete(self, id: String) {
        let Some(store) = self.store.get_untracked() else { return };
        spawn_local(async move { self.list_changed(store.delete(&id).await).await });
    }

    /// One file with all kept results.
    pub(crate) async fn export(self) -> Option<String> {
        let store = self.store.get_untracked()?;
        let mut results = Vec::new();
        for entry in self.entries.get_untracked()? {
            if let Ok(report) = store.report(&entry.id).await {
                results.push((entry, report));
            }
        }
        Some(exported(&results))
    }
}
