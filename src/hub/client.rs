//! HTTP client of a hub: sends requests, waits when the server asks for it, retries broken connections, and turns
//! refusals into readable errors.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use futures::future::{Either, select};

use super::http::{Body, Failure, Http, HttpRequest, Response};
use super::id::Endpoint;
use super::repo::FileKey;
use super::store::Store;
use crate::error::{Error, Result};
use crate::event::{Event, Wait};
use crate::weights::Listener;

/// Seconds without a single byte after which a connection counts as broken.
const STALL: f64 = 60.0;
/// Longest wait granted to a server; a longer one becomes an error.
const LONGEST_WAIT: f64 = 300.0;
/// Seconds between two tries to reserve a file.
const LOCK_WAIT: f64 = 1.0;
/// Retries in a row after the server asked to wait.
const REFUSALS: u32 = 6;
/// Most bytes read of an error response.
const EXCERPT: usize = 2048;

/// The hub or a mirror, and the store for its files. Clones share their state.
#[derive(Clone)]
pub struct Hub(Rc<HubInner>);

struct HubInner {
    http: Rc<dyn Http>,
    store: Rc<dyn Store>,
    endpoint: Endpoint,
    listener: RefCell<Option<Listener>>,
    /// Files whose hash was compared in this run.
    verified: RefCell<BTreeSet<FileKey>>,
}

impl Hub {
    /// The hub at `endpoint`.
    pub fn new(http: Rc<dyn Http>, store: Rc<dyn Store>, endpoint: Endpoint) -> Self {
        Self(Rc::new(HubInner { http, store, endpoint, listener: RefCell::default(), verified: RefCell::default() }))
    }

    /// Registers the callback for progress, waits and warnings.
    pub fn listen(&self, listener: Listener) {
        self.0.store.listen(listener.clone());
        *self.0.listener.borrow_mut() = Some(listener);
    }

    /// Its base address.
    pub fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(super) fn tell(&self, event: Event) {
        let listener = self.0.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(event);
        }
    }

    async fn wait(&self, seconds: f64, why: String) {
        self.tell(Event::Waiting(Wait { seconds, why }));
        self.0.http.sleep(seconds).await;
    }

    /// Whether a stored file was compared with its listed hash, in this run or an earlier one.
    pub(super) fn is_verified(&self, key: &FileKey) -> bool {
        self.0.verified.borrow().contains(key) || self.store().is_verified(key)
    }

    pub(super) fn set_verified(&self, key: &FileKey) {
        self.0.verified.borrow_mut().insert(key.clone());
    }

    /// Deletes all that is stored of a damaged file.
    pub(super) async fn forget(&self, key: &FileKey) -> Result<()> {
        self.0.verified.borrow_mut().remove(key);
        self.store().forget(key).await
    }

    /// Reserves a file in the store, once no other program writes it.
    pub(super) async fn lock<'a>(&'a self, key: &'a FileKey) -> Result<FileLock<'a>> {
        while !self.store().lock(key).await? {
            self.wait(LOCK_WAIT, format!("another program is downloading {}", key.path)).await;
        }
        Ok(FileLock { store: self.store(), key })
    }

    /// Sends a request until it succeeds, within `patience`; `what` names the target in errors.
    pub(super) async fn ask(&self, what: &str, request: &HttpRequest, patience: &mut RetryPolicy) -> Result<Response> {
        loop {
            match self.unless_stalled(self.0.http.get(request)).await {
                Ok(response) => match response.status {
                    200 | 206 => return Ok(response),
                    429 | 500 | 502..=504 => patience.busy(self, what, &response).await?,
                    _ => return Err(refusal(what, response).await),
                },
                Err(Failure::Network(why)) => patience.broken(self, what, why).await?,
                Err(failure @ Failure::Redirects) => {
                    return Err(not_the_file(what, failure.to_string()));
                }
            }
        }
    }

    /// The next bytes of a body. A stalled body counts as a broken connection.
    pub(super) async fn chunk(&self, body: &mut dyn Body) -> Result<Option<Vec<u8>>, Failure> {
        self.unless_stalled(body.chunk()).await
    }

    async fn unless_stalled<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match select(pin!(work), pin!(self.0.http.sleep(STALL))).await {
            Either::Left((done, _)) => done,
            Either::Right(((), _)) => Err(Failure::Network(format!("no data for {STALL} seconds"))),
        }
    }

    /// A small response of at most `limit` bytes, with its `link` header.
    pub(super) async fn document(&self, what: &str, url: String, limit: usize) -> Result<(Vec<u8>, Option<String>)> {
        let request = HttpRequest { url, range: None };
        let mut patience = RetryPolicy::for_documents();
        'again: loop {
            let Response { headers, mut body, .. } = self.ask(what, &request, &mut patience).await?;
            if headers.get("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
                return Err(not_the_file(what, "a web page came".into()));
            }
            let mut bytes = Vec::new();
            loop {
                match self.chunk(&mut *body).await {
                    Ok(Some(chunk)) => bytes.extend(chunk),
                    Ok(None) => return Ok((bytes, headers.get("link").cloned())),
                    Err(Failure::Network(why)) => {
                        patience.broken(self, what, why).await?;
                        continue 'again;
                    }
                    Err(failure) => return Err(not_the_file(what, failure.to_string())),
                }
                if bytes.len() > limit {
                    return Err(not_the_file(what, format!("its answer is longer than {limit} bytes")));
                }
            }
        }
    }
}

/// A file reserved for writing until this is dropped.
pub(super) struct FileLock<'a> {
    store: &'a dyn Store,
    key: &'a FileKey,
}

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        self.store.unlock(self.key);
    }
}

/// Counts retries and decides when to give up.
pub(super) struct RetryPolicy {
    tries: u32,
    failures: u32,
    refusals: u32,
}

impl RetryPolicy {
    /// For the first requests: without a network, fail soon.
    pub(super) fn for_documents() -> Self {
        Self { tries: 1, failures: 0, refusals: 0 }
    }

    /// For downloads, which are worth some waiting.
    pub(super) fn for_downloads() -> Self {
        Self { tries: 5, failures: 0, refusals: 0 }
    }

    /// Resets the counts after progress.
    pub(super) fn restore(&mut self) {
        (self.failures, self.refusals) = (0, 0);
    }

    /// Waits before the next try, twice as long each time, or gives up.
    pub(super) async fn broken(&mut self, hub: &Hub, what: &str, why: String) -> Result<()> {
        self.failures += 1;
        if self.failures > self.tries {
            return Err(Error::Network { what: what.into(), why });
        }
        let seconds = f64::from(1 << (self.failures - 1));
        hub.wait(seconds, format!("the connection broke ({why}), the download will continue")).await;
        Ok(())
    }

    /// Waits as long as the server asks, or with exponential backoff if it does not say.
    async fn busy(&mut self, hub: &Hub, what: &str, response: &Response) -> Result<()> {
        let polite = f64::from(2 << self.refusals).min(60.0);
        let seconds = asked_wait(response).unwrap_or(polite);
        let why = match response.status {
            429 => "too many requests from this address".to_owned(),
            status => format!("it answered {status}"),
        };
        self.refusals += 1;
        if self.refusals > REFUSALS || seconds > LONGEST_WAIT {
            let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
            return Err(Error::HubBusy { what: what.into(), why, minutes });
        }
        hub.wait(seconds, format!("requested by the server ({why})")).await;
        Ok(())
    }
}

/// Seconds to wait, by `Retry-After: 30` or `RateLimit: "api";r=0;t=30`.
fn asked_wait(response: &Response) -> Option<f64> {
    let after = response.header("retry-after").and_then(|value| value.trim().parse::<f64>().ok());
    let limit = response.header("ratelimit").and_then(|value| {
        let time = value.split([';', ',']).find_map(|part| part.trim().strip_prefix("t="))?;
        time.parse::<f64>().ok()
    });
    after.or(limit).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

/// The error for a refusal.
async fn refusal(what: &str, mut response: Response) -> Error {
    let code = response.header("x-error-code").unwrap_or_default().to_owned();
    let why = excerpt(&mut *response.body).await;
    let why = if why.is_empty() { format!("it answered {}", response.status) } else { why };
    let what = what.to_owned();
    let missing = |hint: &str| Error::HubMissing { what: what.clone(), why: why.clone(), hint: hint.into() };
    match (response.status, &*code) {
        (_, "GatedRepo") | (403, _) => {
            let hint = "ask its owner for access on the hub, and give the command line your token in HF_TOKEN".into();
            Error::HubGated { what, why, hint }
        }
        (_, "RevisionNotFound") => missing("give an existing branch, tag or commit, or none for the newest"),
        (_, "RepoNotFound") => missing("check its name; for a private one give the command line a token in HF_TOKEN"),
        (401, _) => {
            let hint = "check its name, or give the command line your token in HF_TOKEN".into();
            Error::HubGated { what, why, hint }
        }
        (404 | 410, _) => missing("check name and revision"),
        _ => not_the_file(&what, why),
    }
}

/// The first line of a refusal, or the `error` of its JSON object.
async fn excerpt(body: &mut dyn Body) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < EXCERPT {
        match body.chunk().await {
            Ok(Some(chunk)) => bytes.extend(chunk),
            _ => break,
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let json = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    let error = json.as_ref().and_then(|json| json.get("error")).and_then(serde_json::Value::as_str);
    let line = error.unwrap_or_else(|| text.lines().next().unwrap_or_default());
    let line = if line.trim_start().starts_with(['<', '{']) { "" } else { line };
    line.chars().filter(|c| !c.is_control()).take(120).collect::<String>().trim().into()
}

/// The error for a response that is not the requested file.
pub(super) fn not_the_file(what: &str, why: String) -> Error {
    let hint = "check the address of the mirror, if any, and whether a proxy or log-in page interferes".into();
    Error::NotTheFile { what: what.into(), why, hint }
}
