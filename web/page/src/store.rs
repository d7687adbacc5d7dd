//! Results in the browser's IndexedDB: what a list shows of each in one store, their reports in another, both written in
//! one transaction, so that tabs never see one without the other.

use js_sys::{Array, Promise};
use leptos::prelude::window;
use straightedge_web::browser::fetch::reason;
use straightedge_web::history::{KeptResult, StoredResult};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbRequest, IdbTransaction, IdbTransactionMode};

const DATABASE: &str = "straightedge results";
const ENTRIES: &str = "entries";
const REPORTS: &str = "reports";

/// The reason of a failure, in words.
type Stored<T> = Result<T, String>;

/// The open database. Clones share it.
#[derive(Clone)]
pub(crate) struct Store(IdbDatabase);

impl Store {
    /// Opens it; fails where the browser allows no storage, as in some private windows.
    pub(crate) async fn open() -> Stored<Self> {
        let factory = window().indexed_db().map_err(|why| reason(&why))?.ok_or("it has no IndexedDB")?;
        let request = factory.open_with_u32(DATABASE, 1).map_err(|why| reason(&why))?;
        let opening = request.clone();
        let create = Closure::<dyn Fn()>::new(move || {
            let Some(database) = opening.result().ok().and_then(|found| found.dyn_into::<IdbDatabase>().ok()) else {
                return;
            };
            // A failure aborts the opening, which reports it.
            let _ = database.create_object_store(ENTRIES);
            let _ = database.create_object_store(REPORTS);
        });
        request.set_onupgradeneeded(Some(create.as_ref().unchecked_ref()));
        settled(&request).await?.dyn_into().map(Self).map_err(|_| "it opened nothing".into())
    }

    /// All entries, in no order; those that cannot be read are left out.
    pub(crate) async fn entries(&self) -> Stored<Vec<KeptResult>> {
        let store = self.begin(IdbTransactionMode::Readonly)?.object_store(ENTRIES).map_err(|why| reason(&why))?;
        let found: Array = settled(&store.get_all().map_err(|why| reason(&why))?).await?.unchecked_into();
        Ok(found.iter().filter_map(|entry| serde_json::from_str(&entry.as_string()?).ok()).collect())
    }

    /// One entry with its order.
    pub(crate) async fn entry(&self, id: &str) -> Stored<StoredResult> {
        serde_json::from_str(&self.text(ENTRIES, id).await?).map_err(|why| why.to_string())
    }

    /// The report of an entry.
    pub(crate) async fn report(&self, id: &str) -> Stored<String> {
        self.text(REPORTS, id).await
    }

    async fn text(&self, store: &str, id: &str) -> Stored<String> {
        let store = self.begin(IdbTransactionMode::Readonly)?.object_store(store).map_err(|why| reason(&why))?;
        let found = settled(&store.get(&id.into()).map_err(|why| reason(&why))?).await?;
        found.as_string().ok_or_else(|| "it was deleted".into())
    }

    /// Writes an entry, with its report if that is new, and deletes others.
    pub(crate) async fn put(&self, result: &StoredResult, report: Option<&str>, deleted: &[String]) -> Stored<()> {
        let json = serde_json::to_string(result).map_err(|why| why.to_string())?;
        self.change(|transaction| {
            let key = JsValue::from(&result.entry.id);
            transaction.object_store(ENTRIES)?.put_with_key(&json.into(), &key)?;
            if let Some(report) = report {
                transaction.object_store(REPORTS)?.put_with_key(&report.into(), &key)?;
            }
            deleted.iter().try_for_each(|id| delete(transaction, id))
        })
        .await
    }

    /// Deletes an entry and its report.
    pub(crate) async fn delete(&self, id: &str) -> Stored<()> {
        self.change(|transaction| delete(transaction, id)).await
    }

    async fn change(&self, change: impl FnOnce(&IdbTransaction) -> Result<(), JsValue>) -> Stored<()> {
        let transaction = self.begin(IdbTransactionMode::Readwrite)?;
        change(&transaction).map_err(|why| reason(&why))?;
        let done = Promise::new(&mut |done, failed| {
            transaction.set_oncomplete(Some(&done));
            transaction.set_onabort(Some(&failed));
        });
        let written = JsFuture::from(done).await;
        let why = || transaction.error().map_or_else(|| "the browser refused it".into(), |error| error.message());
        written.map(drop).map_err(|_| why())
    }

    fn begin(&self, mode: IdbTransactionMode) -> Stored<IdbTransaction> {
        let stores = Array::of2(&ENTRIES.into(), &REPORTS.into());
        self.0.transaction_with_str_sequence_and_mode(&stores, mode).map_err(|why| reason(&why))
    }
}

fn delete(transaction: &IdbTransaction, id: &str) -> Result<(), JsValue> {
    transaction.object_store(ENTRIES)?.delete(&id.into())?;
    transaction.object_store(REPORTS)?.delete(&id.into()).map(drop)
}

/// The result of a request.
async fn settled(request: &IdbRequest) -> Stored<JsValue> {
    let done = Promise::new(&mut |done, failed| {
        request.set_onsuccess(Some(&done));
        request.set_onerror(Some(&failed));
    });
    let why =
        |_| request.error().ok().flatten().map_or_else(|| "the browser refused it".into(), |error| error.message());
    JsFuture::from(done).await.map_err(why)?;
    request.result().map_err(|why| reason(&why))
}
