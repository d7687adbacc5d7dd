//! HTTP client of a hub: sends requests, waits when the server asks for it, retries broken connections, and turns
//! refusals into readable errors.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::http::{Body, Failure, Http, HttpRequest, Response};
use super::id::Endpoint;
use super::repo::FileKey;
use super::retry::{RetryPolicy, is_passing};
use super::store::Store;
use super::timer::RequestTimer;
use super::visit::HubVisit;
use crate::error::{Error, Result};
use crate::event::{Event, Wait};
use crate::weights::Listener;

/// Seconds between two events of a wait, each with the seconds left.
const STEP: f64 = 30.0;
/// Seconds between two tries to reserve a file.
const LOCK_WAIT: f64 = 1.0;
/// Most bytes read of an error response.
const EXCERPT: usize = 2048;

/// The hub or a mirror, and the store for its files. Clones share their state.
#[derive(Clone)]
pub struct Hub(Rc<HubInner>);

struct HubInner {
    http: Rc<dyn Http>,
    store: Rc<dyn Store>,
    endpoint: Endpoint,
    visit: Rc<HubVisit>,
    listener: RefCell<Option<Listener>>,
    /// Files whose hash was compared in this run.
    verified: RefCell<BTreeSet<FileKey>>,
}

impl Hub {
    /// The hub at `endpoint`.
    pub fn new(http: Rc<dyn Http>, store: Rc<dyn Store>, endpoint: Endpoint) -> Self {
        Self::within(Rc::default(), http, store, endpoint)
    }

    /// The hub within a visit, whose answers are not requested again.
    pub fn within(visit: Rc<HubVisit>, http: Rc<dyn Http>, store: Rc<dyn Store>, endpoint: Endpoint) -> Self {
        let (listener, verified) = (RefCell::default(), RefCell::default());
        Self(Rc::new(HubInner { http, store, endpoint, visit, listener, verified }))
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

    /// Whether requests carry a token, which may open what is restricted.
    pub(super) fn has_token(&self) -> bool {
        self.0.http.has_token()
    }

    pub(super) fn visit(&self) -> &HubVisit {
        &self.0.visit
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(super) fn emit(&self, event: Event) {
        let listener = self.0.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(event);
        }
    }

    /// Waits, and emits the seconds left at intervals.
    pub(super) async fn wait(&self, wait: Wait) {
        let Wait { seconds: mut left, why } = wait;
        while left > 0.0 {
            self.emit(Event::Waiting(Wait { seconds: left, why: why.clone() }));
            let step = left.min(STEP);
            self.0.http.sleep(step).await;
            left -= step;
        }
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
            let why = format!("another program is downloading {}", key.path);
            self.wait(Wait { seconds: LOCK_WAIT, why }).await;
        }
        Ok(FileLock { store: self.store(), key })
    }

    /// Sends a request for about `bytes` until it succeeds, within `patience`; `what` names the target in errors.
    pub(super) async fn send(
        &self,
        what: &str,
        request: &HttpRequest,
        bytes: u64,
        patience: &mut RetryPolicy,
    ) -> Result<Response> {
        loop {
            let mut timer = RequestTimer::start(self.0.http.clone(), bytes);
            let wait = match timer.guard(self.0.http.get(request)).await {
                Ok(response) => {
                    let response = Response { body: timer.body(response.body), ..response };
                    match response.status {
                        200 | 206 => return Ok(response),
                        status if is_passing(status) => patience.busy(what, &response)?,
                        _ => return Err(refusal(what, response).await),
                    }
                }
                Err(Failure::Network(why) | Failure::Slow(why)) => patience.broken(what, why)?,
                Err(Failure::Offline(why)) => return Err(Error::Network { what: what.into(), why: why.into() }),
                Err(failure @ Failure::Redirect(_)) => return Err(not_the_file(what, failure.to_string())),
            };
            self.wait(wait).await;
        }
    }

    /// A small response of at most `limit` bytes, with its `link` header.
    pub(super) async fn document(&self, what: &str, url: String, limit: usize) -> Result<(Vec<u8>, Option<String>)> {
        let request = HttpRequest { url, range: None };
        let mut patience = RetryPolicy::for_documents();
        'again: loop {
            let Response { headers, mut body, .. } = self.send(what, &request, 0, &mut patience).await?;
            if headers.get("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
                return Err(not_the_file(what, "a web page came".into()));
            }
            let mut bytes = Vec::new();
            loop {
                match body.chunk().await {
                    Ok(Some(chunk)) => bytes.extend(chunk),
                    Ok(None) => return Ok((bytes, headers.get("link").cloned())),
                    Err(Failure::Network(why) | Failure::Slow(why)) => {
                        self.wait(patience.broken(what, why)?).await;
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

/// The error for a refusal.
async fn refusal(what: &str, mut response: Response) -> Error {
    let code = response.header("x-error-code").unwrap_or_default().to_owned();
    let why = excerpt(&mut *response.body).await;
    let why = if why.is_empty() { format!("it answered {}", response.status) } else { why };
    let what = what.to_owned();
    let missing = |hint: &str| Error::HubMissing { what: what.clone(), why: why.clone(), hint: hint.into() };
    match (response.status, &*code) {
        (_, "GatedRepo") | (403, _) => restricted(what, why),
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

/// The error for a repository whose owner grants access.
pub(super) fn restricted(what: String, why: String) -> Error {
    let hint = "ask for access on its page on the hub, and give the command line your token in HF_TOKEN".into();
    Error::HubGated { what, why, hint }
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
