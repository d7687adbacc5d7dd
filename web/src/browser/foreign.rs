//! Reads a file of any host that allows it, with a limit on its size and on the time: neither the host nor the content
//! is trusted.

use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, ReadableStreamDefaultReader, ReferrerPolicy, RequestCredentials, RequestInit, Response, Window,
};

use crate::browser::fetch::reason;

/// Milliseconds until a transfer is given up.
const PATIENCE: u32 = 30_000;

/// The content of a file, at most `most` bytes of it; the reason if it did not arrive. Sends no cookies and no referrer.
pub async fn text(address: &str, most: usize) -> Result<String, String> {
    let window: Window = js_sys::global().dyn_into().map_err(|_| "the page is not in a window".to_string())?;
    let how = RequestInit::new();
    how.set_credentials(RequestCredentials::Omit);
    how.set_referrer_policy(ReferrerPolicy::NoReferrer);
    how.set_signal(Some(&AbortSignal::timeout_with_u32(PATIENCE)));
    let answer = JsFuture::from(window.fetch_with_str_and_init(address, &how)).await.map_err(|why| reason(&why))?;
    let answer: Response = answer.unchecked_into();
    if !answer.ok() {
        return Err(format!("its host answered {}", answer.status()));
    }
    let body = answer.body().ok_or("its host sent nothing")?;
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunk(&reader).await? {
        if bytes.len() + chunk.length() as usize > most {
            // The rest is not wanted; the browser ends the transfer.
            let _ = reader.cancel();
            return Err(format!("it is larger than {} MB", most / 1_000_000));
        }
        bytes.extend(chunk.to_vec());
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".into())
}

/// The next part; `None` after the last.
async fn chunk(reader: &ReadableStreamDefaultReader) -> Result<Option<Uint8Array>, String> {
    let read = JsFuture::from(reader.read()).await.map_err(|why| reason(&why))?;
    let is_over = Reflect::get(&read, &"done".into()).map_err(|why| reason(&why))?.is_truthy();
    let value = Reflect::get(&read, &"value".into()).map_err(|why| reason(&why))?;
    Ok((!is_over).then(|| value.unchecked_into()))
}
