//! Counts requests and bytes sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use crate::request::Request;

/// Counts by address, query strings removed.
#[derive(Clone, Default)]
pub struct Stats(Arc<Mutex<BTreeMap<String, Count>>>);

/// The counts of one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Requests.
    pub requests: u64,
    /// Requests with a range.
    pub ranged: u64,
    /// Requests with a token.
    pub tokens: u64,
    /// Requests that tell the page they come from.
    pub referrers: u64,
    /// Bytes of bodies sent.
    pub bytes: u64,
}

/// Counts the bytes of one request.
pub(crate) struct Counter {
    stats: Stats,
    path: String,
}

impl Stats {
    pub(crate) fn request(&self, path: &str, request: &Request) -> Counter {
        let mut counts = self.lock();
        let count = counts.entry(path.into()).or_default();
        count.requests += 1;
        count.ranged += u64::from(request.header("range").is_some());
        count.tokens += u64::from(request.header("authorization").is_some());
        count.referrers += u64::from(request.header("referer").is_some());
        Counter { stats: self.clone(), path: path.into() }
    }

    /// Sums over the addresses that send `file` itself: on the files' origin, or for a small file in the hub's cache.
    pub fn file(&self, file: &str) -> Count {
        let ending = format!("/{file}");
        let counts = self.lock();
        let files = counts.iter().filter(|(path, _)| {
            (path.contains('@') || path.starts_with("/api/resolve-cache/")) && path.ends_with(&ending)
        });
        files.fold(Count::default(), |sum, (_, count)| Count {
            requests: sum.requests + count.requests,
            ranged: sum.ranged + count.ranged,
            tokens: sum.tokens + count.tokens,
            referrers: sum.referrers + count.referrers,
            bytes: sum.bytes + count.bytes,
        })
    }

    /// Requests at all addresses that contain `part`.
    pub fn requests(&self, part: &str) -> u64 {
        self.lock().iter().filter(|(path, _)| path.contains(part)).map(|(_, count)| count.requests).sum()
    }

    /// Requests that the hub counts as calls of its API: revisions and listings.
    pub fn calls(&self) -> u64 {
        self.requests("/revision/") + self.requests("/tree/")
    }

    /// Resets all counts.
    pub fn reset(&self) {
        self.lock().clear();
    }

    pub(crate) fn json(&self) -> Value {
        json!(*self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counter {
    pub(crate) fn add(&self, bytes: u64) {
        self.stats.lock().entry(self.path.clone()).or_default().bytes += bytes;
    }
}
