//! HTTP in the browser: `fetch` with streamed bodies and cancellable requests.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use js_sys::{Reflect, Uint8Array};
use straightedge::hub::http::{Body, Failure, Http, HttpRequest, Response};
use straightedge_web::browser::fetch::reason;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Headers, ReadableStreamDefaultReader, ReferrerPolicy, RequestCache, RequestCredentials,
    RequestInit, WorkerGlobalScope,
};

/// `fetch` without cookies and without the browser's cache; the store keeps downloads.
pub(crate) struct FetchHttp;

impl Http for FetchHttp {
    fn get<'a>(&'a self, request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        Box::pin(get(request))
    }

    fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()> {
        Box::pin(gloo_timers::future::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 1e6))))
    }
}

async fn get(request: &HttpRequest) -> Result<Response, Failure> {
    let guard = Guard(AbortController::new().map_err(failure)?);
    let init = RequestInit::new();
    init.set_signal(Some(&guard.0.signal()));
    init.set_cache(RequestCache::NoStore);
    init.set_credentials(RequestCredentials::Omit);
    // The hub refuses requests from some hosts of pages, and need not know the page.
    init.set_referrer_policy(ReferrerPolicy::NoReferrer);
    if let Some(range) = request.range_header() {
        let headers = Headers::new().map_err(failure)?;
        // A single range needs no CORS preflight.
        headers.set("Range", &range).map_err(failure)?;
        init.set_headers(&headers);
    }
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_str_and_init(&request.url, &init)).await.map_err(failure)?;
    let response: web_sys::Response = response.unchecked_into();
    let reader = response.body().map(|body| body.get_reader().unchecked_into());
    Ok(Response {
        status: response.status(),
        headers: visible(&response.headers()),
        body: Box::new(Stream { reader, _guard: guard }),
    })
}

/// The headers that the server exposes to other origins.
fn visible(headers: &Headers) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let Ok(Some(entries)) = js_sys::try_iter(headers) else { return seen };
    for pair in entries.flatten() {
        let pair = js_sys::Array::from(&pair);
        if let (Some(name), Some(value)) = (pair.get(0).as_string(), pair.get(1).as_string()) {
            seen.insert(name.to_lowercase(), value);
        }
    }
    seen
}

/// Aborts the request when dropped.
struct Guard(AbortController);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A body; `None` if the response has none.
struct Stream {
    reader: Option<ReadableStreamDefaultReader>,
    _guard: Guard,
}

impl Body for Stream {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(async move {
            let Some(reader) = &self.reader else { return Ok(None) };
            loop {
                let read = JsFuture::from(reader.read()).await.map_err(failure)?;
                if property(&read, "done").is_none_or(|done| done.is_truthy()) {
                    return Ok(None);
                }
                let bytes: Option<Uint8Array> = property(&read, "value").and_then(|value| value.dyn_into().ok());
                match bytes.map(|bytes| bytes.to_vec()) {
                    Some(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    _ => {}
                }
            }
        })
    }
}

fn property(object: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(object, &name.into()).ok()
}

/// A browser reports neither why a connection failed nor whether there were too many redirects.
fn failure(thrown: JsValue) -> Failure {
    Failure::Network(reason(&thrown))
}
