//! Reads files of the site by relative paths, in the page and in the worker.

use serde::de::DeserializeOwned;
use straightedge_api::error::{Error, Result};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, Blob, RequestInit, Response, Window, WorkerGlobalScope};

/// Milliseconds until a file is given up: enough for the largest of the site, of 3 MB, at 5 kB/s.
const PATIENCE: u32 = 600_000;

/// The file as a blob, which the browser keeps outside wasm memory.
pub async fn blob(path: &str) -> Result<Blob> {
    let response = get(path).await?;
    let body = response.blob().map_err(|why| undelivered(path, &why))?;
    let body = JsFuture::from(body).await.map_err(|why| undelivered(path, &why))?;
    Ok(body.unchecked_into())
}

/// A JSON file.
pub async fn json<T: DeserializeOwned>(path: &str) -> Result<T> {
    let response = get(path).await?;
    let body = response.text().map_err(|why| undelivered(path, &why))?;
    let body = JsFuture::from(body).await.map_err(|why| undelivered(path, &why))?;
    let text = body.as_string().unwrap_or_default();
    serde_json::from_str(&text).map_err(|why| Error::MalformedJson { file: path.into(), why: why.to_string() })
}

/// Bytes of a blob, or of the part of it from `start` to `end`.
pub async fn bytes(file: &str, blob: &Blob, start: u64, end: u64) -> Result<Vec<u8>> {
    let slice = blob.slice_with_f64_and_f64(start as f64, end as f64).map_err(|why| unreadable(file, &why))?;
    let buffer = JsFuture::from(slice.array_buffer()).await.map_err(|why| unreadable(file, &why))?;
    let bytes = js_sys::Uint8Array::new(&buffer).to_vec();
    if bytes.len() as u64 != end - start {
        let why = format!("{} bytes arrived, but {} were requested", bytes.len(), end - start);
        return Err(Error::UnreadableFile { file: file.into(), why });
    }
    Ok(bytes)
}

/// Many servers answer a missing file with a web page, which is an error here.
async fn get(path: &str) -> Result<Response> {
    let response = JsFuture::from(fetch(path)).await.map_err(|why| undelivered(path, &why))?;
    let response: Response = response.unchecked_into();
    let kind = response.headers().get("content-type").ok().flatten().unwrap_or_default();
    if response.status() == 404 || kind.starts_with("text/html") {
        let hint = "this copy of the site is incomplete, tell its host".into();
        return Err(Error::MissingFile { file: path.into(), hint });
    }
    if !response.ok() {
        let why = format!("the server answered {}", response.status());
        return Err(Error::SiteFile { file: path.into(), why });
    }
    Ok(response)
}

/// Ends a request, and the transfer of its body, that takes longer than any file of the site may.
pub fn timeout() -> AbortSignal {
    AbortSignal::timeout_with_u32(PATIENCE)
}

fn fetch(path: &str) -> js_sys::Promise {
    let (global, how) = (js_sys::global(), RequestInit::new());
    how.set_signal(Some(&timeout()));
    match global.dyn_ref::<Window>() {
        Some(window) => window.fetch_with_str_and_init(path, &how),
        None => global.unchecked_into::<WorkerGlobalScope>().fetch_with_str_and_init(path, &how),
    }
}

fn undelivered(file: &str, why: &JsValue) -> Error {
    Error::SiteFile { file: file.into(), why: reason(why) }
}

fn unreadable(file: &str, why: &JsValue) -> Error {
    Error::UnreadableFile { file: file.into(), why: reason(why) }
}

/// The message of a thrown browser error.
pub fn reason(thrown: &JsValue) -> String {
    message_of(thrown).or_else(|| thrown.as_string()).unwrap_or_else(|| "no reason given".into())
}

/// The message of an error or of an error event, where it has one.
pub fn message_of(thrown: &JsValue) -> Option<String> {
    let message = js_sys::Reflect::get(thrown, &"message".into()).ok().and_then(|message| message.as_string());
    message.filter(|message| !message.is_empty())
}
