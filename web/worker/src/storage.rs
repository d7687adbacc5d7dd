//! Downloads in the browser's storage: what is stored, what space is left, and deletion.

use js_sys::Reflect;
use straightedge_api::error::{Error, Result};
use straightedge_api::message::{Deletion, StorageReport, StoredItem};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::StorageEstimate;

use super::disk::manager;
use super::opfs::Opfs;

/// Carries out a deletion and reports what is left.
pub(super) async fn report_after(deletion: Deletion) -> StorageReport {
    let (usage, quota) = estimate().await.unwrap_or_default();
    let empty = StorageReport { usage, quota, ..StorageReport::default() };
    match stored(deletion).await {
        Ok(stored) => {
            let (usage, quota) = estimate().await.unwrap_or_default();
            StorageReport { stored, usage, quota, is_persistent: is_persistent().await, why_not: None }
        }
        Err(Error::NoStorage { why }) => StorageReport { why_not: Some(why), ..empty },
        Err(error) => StorageReport { why_not: Some(error.to_string()), ..empty },
    }
}

/// Bytes that can still be stored; `None` if the browser does not report it.
pub(super) async fn free_bytes() -> Option<u64> {
    match estimate().await? {
        (Some(usage), Some(quota)) => Some(quota.saturating_sub(usage)),
        _ => None,
    }
}

async fn stored(deletion: Deletion) -> Result<Vec<StoredItem>> {
    let store = Opfs::open().await?;
    match deletion {
        Deletion::Nothing => {}
        Deletion::One { name } => store.delete(&name).await,
        Deletion::Everything => store.clear().await,
    }
    let list = store.list().await;
    Ok(list.into_iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| StoredItem { name, bytes }).collect())
}

/// Bytes in use and bytes allowed.
async fn estimate() -> Option<(Option<u64>, Option<u64>)> {
    let estimate = JsFuture::from(manager()?.estimate().ok()?).await.ok()?;
    let estimate: StorageEstimate = estimate.unchecked_into();
    Some((estimate.get_usage().map(|bytes| bytes as u64), estimate.get_quota().map(|bytes| bytes as u64)))
}

async fn is_persistent() -> bool {
    let Some(manager) = manager() else { return false };
    let has = Reflect::has(&manager, &"persisted".into()).unwrap_or(false);
    let Some(persisted) = manager.persisted().ok().filter(|_| has) else { return false };
    JsFuture::from(persisted).await.is_ok_and(|answer| answer.is_truthy())
}
